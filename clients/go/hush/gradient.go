package hush

import (
	"fmt"
	"math"
)

// The arithmetic of spec/training.md. Go may fuse a product and a sum, across statements too, unless the product is
// converted to float64: so every product is.

const tiny = 1e-150

func clip(x, low, high float64) float64 { return math.Min(math.Max(x, low), high) }

// flush is 0 for numbers so small that processors may be slow with them.
func flush(x float64) float64 { return float64(x * float64(lessFloat(tiny, math.Abs(x)))) }

// divisor is a public number, neither so large nor so small that processors may be slow with it or with quotients.
func divisor(x float64) float64 { return clip(x, 1e-150, 1e150) }

// before is 1 if a < b, else 0.
func before(a, b float64) float64 {
	if a < b {
		return 1
	}
	return 0
}

func dot(a, b []float64) float64 {
	total := 0.0
	for i := range a {
		total += float64(a[i] * b[i])
	}
	return total
}

func exponential(x float64) float64 {
	t, e := clip(x, -64, 64)/64, 1.0
	for n := 18; n > 0; n-- {
		e = 1 + float64(t*e)/float64(n)
	}
	for i := 0; i < 6; i++ {
		e = float64(e * e)
	}
	return e
}

// softplus is log(1 + e^x): twice the series of z + z^3/3 + ..., for z = e/(2 + e) and e = e^-|x|.
func softplus(x float64) float64 {
	e := exponential(-math.Abs(x))
	z, found := e/(2+e), 0.0
	square := float64(z * z)
	for n := 18; n > 0; n-- {
		found = 1/float64(2*n-1) + float64(square*found)
	}
	return math.Max(x, 0) + float64(float64(2*z)*found)
}

func shrunk(point, err float64) float64 {
	ratio := 0.0
	if point != 0 {
		ratio = math.Min(err, 1) / point
	}
	return zero(clip(float64(point*math.Max(0, 1-float64(ratio*ratio))), -1, 1))
}

func seededSigns(purpose, seed string, count int) []float64 {
	bytes := shake256([]byte("hush "+purpose+" "+seed), (count+7)/8)
	signs := make([]float64, count)
	for i := range signs {
		signs[i] = float64(2*int(bytes[i>>3]>>(i&7)&1) - 1)
	}
	return signs
}

func paddedSize(count int) int {
	size := 64
	for size < count {
		size *= 2
	}
	return size
}

func rotate(vector []float64, seed string) []float64 {
	size := paddedSize(len(vector))
	signs := seededSigns("rotation", seed, 2*size)
	turned := make([]float64, size)
	copy(turned, vector)
	scale := 1 / math.Sqrt(float64(size))
	for start := 0; start <= size; start += size {
		for i := range turned {
			turned[i] = float64(turned[i] * signs[start+i])
		}
		for half := 1; half < size; half *= 2 {
			for i := range turned {
				if i&half == 0 {
					a, b := turned[i], turned[i+half]
					turned[i], turned[i+half] = a+b, a-b
				}
			}
		}
		for i := range turned {
			turned[i] = float64(turned[i] * scale)
		}
	}
	return turned
}

// pointed has the signs of the near largest numbers, times a size, and 0 for the others.
func pointed(turned []float64, size float64, near int) []float64 {
	const most = 1 << 30
	total := 1e-304
	for _, value := range turned {
		total += float64(flush(value) * flush(value))
	}
	unit := most / math.Sqrt(total)
	sizes := make([]uint64, len(turned))
	for i, value := range turned {
		sizes[i] = uint64(math.Min(float64(math.Abs(value)*unit), most))
	}
	found := make([]float64, len(turned))
	for i, mark := range largest(sizes, near) {
		sign := before(0, turned[i]) - before(turned[i], 0)
		found[i] = float64(size * float64(float64(mark)*sign))
	}
	return found
}

// answer is what a person is asked in a round, stage or check: a record of the plan.
func (p *Phase) answer(record Record, label any) (Record, error) {
	plain, err := p.training.features(record)
	if err != nil {
		return nil, err
	}
	y, err := p.training.target(label)
	if err != nil {
		return nil, err
	}
	var found []float64
	switch {
	case p.check:
		return Record{"loss": p.loss(plain, y)}, nil
	case p.stage == "":
		found = p.gradient(plain, y)
	case p.stage == "shares":
		return p.shares(plain, y), nil
	default:
		found = p.numbers(plain, y)
	}
	asked := Record{}
	for i, a := range p.plan.schema {
		asked[a.name] = found[i]
	}
	return asked, nil
}

// features are numbers from -1 to 1, by public knowledge alone.
func (t *Training) features(record Record) ([]float64, error) {
	inputs, err := (&Plan{schema: t.schema}).encode(record)
	if err != nil {
		return nil, err
	}
	var found []float64
	for i, a := range t.schema {
		in := inputs[i]
		if a.numeric() {
			found = append(found, float64((float64(2*in.u)-1)*float64(1-in.missing)))
			if a.optional {
				found = append(found, float64(in.missing))
			}
			continue
		}
		for j := 0; j < a.categories()-1; j++ {
			found = append(found, float64(same(uint64(in.index), uint64(j))))
		}
		if t.ordered[a.name] {
			values := len(a.integers) + len(a.texts)
			place := float64(2*in.index)/float64(values-1) - 1
			found = append(found, float64(place*float64(less(uint64(in.index), uint64(values)))))
		}
	}
	return found, nil
}

func (t *Training) target(label any) (float64, error) {
	in, err := t.label.encode(label)
	if err != nil {
		return 0, fmt.Errorf("attribute %q: %w", t.label.name, err)
	}
	if t.label.numeric() {
		return float64(2*in.u) - 1, nil
	}
	told := t.against
	if told < 0 {
		told = 1
	}
	return float64(2*int(same(uint64(in.index), uint64(told))) - 1), nil
}

// factors are those of the weights.
func (t *Training) factors(plain []float64) []float64 {
	all := append([]float64(nil), plain...)
	for i := range all {
		if t.centre != nil {
			all[i] -= t.centre[i]
		}
		if t.scale != nil {
			all[i] /= t.scale[i]
		}
		all[i] = flush(clip(all[i], -largestWeight, largestWeight))
	}
	if t.lift != nil {
		all = append(all, t.lift.of(all)...)
	}
	if t.intercept {
		all = append(all, 1)
	}
	if t.projection == 0 {
		return all
	}
	entries := seededSigns("projection", t.seed, t.projection*len(all))
	for i := range entries {
		entries[i] /= float64(len(all))
	}
	found := make([]float64, t.projection)
	for r := range found {
		found[r] = flush(dot(entries[r*len(all):(r+1)*len(all)], all))
	}
	return found
}

func (t *Training) slope(score, y float64) float64 {
	switch t.loss {
	case "squared":
		return float64(2 * (score - y))
	case "hinge":
		return float64(-y * before(float64(y*score), 1))
	}
	return -y / (1 + exponential(float64(y*score)))
}

func (t *Training) lossOf(score, y float64) float64 {
	switch t.loss {
	case "squared":
		return float64(flush(score-y) * flush(score-y))
	case "hinge":
		return math.Max(0, 1-float64(y*score))
	}
	return softplus(float64(-y * score))
}

// loss is that of the weights. One that is tiny, or tiny beside the cap, is 0: processors are slow with such quotients.
func (p *Phase) loss(plain []float64, y float64) float64 {
	t := p.training
	value := math.Min(t.lossOf(p.score(t.factors(plain)), y), t.cap)
	return float64(value * before(float64(1e-150*math.Max(t.cap, 1)), value))
}

func (p *Phase) score(inputs []float64) float64 {
	weights := make([]float64, len(p.weights))
	for i, weight := range p.weights {
		weights[i] = zero(weight)
	}
	return dot(inputs, weights)
}

func (p *Phase) gradient(plain []float64, y float64) []float64 {
	t := p.training
	inputs := t.factors(plain)
	slope := flush(t.slope(p.score(inputs), y))
	vector := make([]float64, len(p.coordinates))
	for i, j := range p.coordinates {
		vector[i] = flush(float64(slope * inputs[j]))
	}
	if t.gradient != "vector" {
		for i := range vector {
			vector[i] = clip(vector[i]/divisor(t.bound), -1, 1)
		}
		return vector
	}
	size := math.Min(math.Sqrt(dot(vector, vector))/divisor(t.radius), 1)
	return pointed(rotate(vector, fmt.Sprintf("%s/%s%d", t.seed, t.branch(), p.number)), size, p.near)
}

// numbers are the answers to the stages means and spreads.
func (p *Phase) numbers(plain []float64, y float64) []float64 {
	var found []float64
	for _, part := range p.training.parts {
		if part.number {
			found = append(found, plain[part.start])
		}
	}
	if p.training.asksTarget() {
		found = append(found, y)
	}
	if p.stage == "spreads" {
		for i := range found {
			found[i] = math.Min(math.Abs(found[i]-p.middle[i]), 1)
		}
	}
	return found
}

func (p *Phase) shares(plain []float64, y float64) Record {
	found := Record{}
	if !p.training.asksTarget() {
		found["target"] = int64(before(0, y))
	}
	for _, part := range p.training.parts {
		if part.number {
			continue
		}
		place := int64(part.indicators)
		for i := 0; i < part.indicators; i++ {
			place += int64(plain[part.start+i]) * int64(i-part.indicators)
		}
		found[fmt.Sprintf("x%d", part.start)] = place
	}
	return found
}
