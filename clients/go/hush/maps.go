package hush

import (
	"crypto/sha256"
	"math"
	"sort"
	"strconv"
)

// Public maps (spec/training.md): units are fixed functions of the features, and features like others. As in gradient.go every
// product is converted to float64, so that none is fused with a sum.

const (
	mostUnits    = 1000
	mostInputs   = 64
	mostProducts = 1 << 16
	mostWeight   = 1e6
	farthest     = 1 << 20
	turn         = 2 * math.Pi
	bulk         = 8 // standard deviations
)

// unit has the features that it looks at, in order, their weights, and a bias.
type unit struct {
	places  []int
	weights []float64
	bias    float64
}

// featureMap is a map as it was read. A table has its units; those of a random one follow from its seed.
type featureMap struct {
	wave     bool
	strength float64
	count    int
	inputs   int
	seed     string
	units    []unit
}

// lift is a map for the features of one training: its units, and the mean and the factor of each.
type lift struct {
	wave           bool
	units          []unit
	means, factors []float64
}

// zero is 0 for what is so small that products with features, or sums of those, could be subnormal.
func zero(x float64) float64 { return float64(x * float64(lessFloat(1e-100, math.Abs(x)))) }

// beside is how far a number is from the nearest integer.
func beside(t float64) float64 { return math.Abs(t - math.RoundToEven(t)) }

func wave(t float64) float64 {
	r := beside(clip(t, -farthest, farthest))
	return 1 - float64(float64(r*r)*(24-float64(32*r)))
}

func readMap(f *fields, dimensions int) *featureMap {
	values, _ := f.values["map"].(object)
	random := values["kind"] == "random"
	names := []string{"kind", "activation", "units", "strength"}
	if random {
		names = []string{"kind", "units", "inputs", "strength", "seed"}
	}
	g := open(f.values["map"], names...)
	if g.err != nil {
		f.refuse("the map: %w", g.err)
		return nil
	}
	m := &featureMap{wave: true, strength: g.number("strength")}
	g.rule(0 < m.strength && m.strength <= mostWeight, "the strength of a map must be above 0, and at most 1e6")
	if random {
		m.count, m.inputs, m.seed = g.size("units", 1, mostUnits), g.size("inputs", 1, mostInputs), g.text("seed")
		g.rule(printable(m.seed, 1, longestName), "the seed of a map must have 1 to %d printable characters", longestName)
	} else {
		m.readTable(g, dimensions)
	}
	if g.err != nil {
		f.refuse("the map: %w", g.err)
	}
	return m
}

func (m *featureMap) readTable(g *fields, dimensions int) {
	activation := g.text("activation")
	g.rule(g.values["kind"] == "table", "the kind of a map must be random or table")
	g.rule(oneOf(activation, "wave", "relu"), "the activation of a map must be wave or relu")
	m.wave = activation == "wave"
	rows := g.array("units")
	m.count = len(rows)
	g.rule(1 <= m.count && m.count <= mostUnits, "a map must list 1 to %d units", mostUnits)
	products := 0
	for _, row := range rows {
		if g.err != nil {
			return
		}
		one := readUnit(g, row, dimensions)
		products += len(one.places)
		m.units = append(m.units, one)
	}
	g.rule(products <= mostProducts, "the units of a map must have at most %d weights in all", mostProducts)
}

func readUnit(g *fields, row any, dimensions int) (one unit) {
	parts, ok := row.([]any)
	g.rule(ok && len(parts) == 3, "a unit of a map must have places, weights and a bias")
	if g.err != nil {
		return one
	}
	places, ok := parts[0].([]any)
	g.rule(ok && 1 <= len(places) && len(places) <= mostUnits, "a unit of a map must have 1 to %d places", mostUnits)
	next := int64(0)
	for _, value := range places {
		j, ok := asInteger(value)
		g.rule(ok && next <= j && j < int64(dimensions), "the places of a unit must be different features, in order")
		next = j + 1
		one.places = append(one.places, int(j))
	}
	one.weights = asNumbers(g, parts[1], len(places), "the weights of a unit")
	bias, ok := finite(parts[2])
	one.bias = bias
	g.rule(ok, "the bias of a unit must be a number")
	for _, value := range append([]float64{bias}, one.weights...) {
		g.rule(math.Abs(value) <= mostWeight, "the weights and biases of a map must be at most 1e6")
	}
	return one
}

// lifted is the map with the means and factors that follow from the centres and scales of the features.
func (t *Training) lifted() *lift {
	m, spread := t.featureMap, t.variances()
	units := m.units
	if units == nil {
		var numbers []int
		for _, part := range t.parts {
			if part.number {
				numbers = append(numbers, part.start)
			}
		}
		units = m.random(numbers, t.dimensions)
	}
	found := &lift{wave: m.wave}
	for _, one := range units {
		flushed, q := unit{places: one.places, bias: zero(one.bias)}, 0.0
		for i, j := range one.places {
			weight := zero(one.weights[i])
			flushed.weights = append(flushed.weights, weight)
			q += float64(float64(weight*weight) * spread[j])
		}
		mean, variance := reluMoments(flushed.bias, q)
		if m.wave {
			mean, variance = waveMoments(flushed.bias, q)
		}
		found.units = append(found.units, flushed)
		found.means = append(found.means, zero(mean))
		found.factors = append(found.factors, math.Sqrt(m.strength/float64(float64(len(units))*(math.Max(variance, 0)+0.01))))
	}
	return found
}

// of is the values of all units, from centred and scaled features: the same steps for all of them.
func (l *lift) of(features []float64) []float64 {
	found := make([]float64, len(l.units))
	for k, one := range l.units {
		total := one.bias
		for i, j := range one.places {
			total += float64(features[j] * one.weights[i])
		}
		value := zero(total)
		if l.wave {
			value = wave(value)
		} else {
			value = math.Max(value, 0)
		}
		found[k] = flush(float64((value - l.means[k]) * l.factors[k]))
	}
	return found
}

// variances are those of centred and scaled features, as far as they are known.
func (t *Training) variances() []float64 {
	found := make([]float64, t.dimensions)
	for j := range found {
		found[j] = 1
	}
	for _, part := range t.parts {
		for j := part.start; j < part.start+part.indicators; j++ {
			share, size := 0.0, 1.0
			if t.centre != nil {
				share = clip(t.centre[j], 0, 1)
			}
			if t.scale != nil {
				size = clip(t.scale[j], 1e-3, 1e3)
			}
			found[j] = float64(share*(1-share)) / float64(size*size)
		}
	}
	return found
}

// cosine is that of a number of turns.
func cosine(t float64) float64 {
	x := float64(turn * beside(t))
	square, found := float64(x*x), 1.0
	for n := 18; n > 0; n-- {
		found = 1 - float64(square*found)/float64((2*n-1)*(2*n))
	}
	return found
}

// normal is the density of a normal number at z, from -8 to 8, and the probability of a smaller one.
func normal(z float64) (density, below float64) {
	square, found := float64(z*z), 1.0
	density = exponential(-square/2) / math.Sqrt(turn)
	for n := 100; n > 0; n-- {
		found = 1 + float64(square*found)/float64(2*n+1)
	}
	return density, 0.5 + float64(float64(z*found)*density)
}

// waveMoments are mean and variance of a cosine of a normal number with this mean and variance, in turns.
func waveMoments(bias, q float64) (mean, variance float64) {
	q = float64(float64(math.Min(q, 1e3)*turn) * turn)
	mean = float64(cosine(bias) * exponential(-q/2))
	both := float64(cosine(float64(2*bias)) * exponential(float64(-2*q)))
	return mean, (1+both)/2 - float64(mean*mean)
}

// reluMoments are mean and variance of the positive part of a normal number with this mean and variance.
func reluMoments(bias, q float64) (mean, variance float64) {
	if q < 1e-300 {
		return math.Max(bias, 0), 0
	}
	deviation := math.Sqrt(q)
	z := clip(bias/deviation, -bulk, bulk)
	density, above := normal(z)
	mean = float64(z*above) + density
	variance = float64((float64(z*z)+1)*above) + float64(z*density) - float64(mean*mean)
	return float64(deviation*mean) + math.Max(bias-float64(bulk*deviation), 0), float64(q * variance)
}

// random is the units that follow from the seed.
func (m *featureMap) random(numbers []int, dimensions int) []unit {
	single, several := 0, m.inputs
	if len(numbers) > 0 {
		single = (m.count + 1) / 3
	}
	if several > dimensions {
		several = dimensions
	}
	found := make([]unit, m.count)
	for i := range found {
		s := &stream{seed: m.seed + "/" + strconv.Itoa(i)}
		places, size := []int(nil), 1.0
		if i < single {
			places = []int{numbers[i%len(numbers)]}
		} else {
			places, size = s.places(several, dimensions), 1.5/math.Sqrt(float64(several))
		}
		weights := make([]float64, len(places))
		for j := range weights {
			sum := uint64(0)
			for k := 0; k < 12; k++ {
				sum += s.next(2)
			}
			weights[j] = float64((float64(sum)/65536-6)*size) / turn
		}
		found[i] = unit{places, weights, float64(s.next(4)) / (1 << 32)}
	}
	return found
}

// stream is the bytes of a public seed: SHA-256 of it and 0, of it and 1, and so on.
type stream struct {
	seed  string
	block int
	rest  []byte
}

// next is the next integer of so many bytes, the first one highest.
func (s *stream) next(size int) uint64 {
	for len(s.rest) < size {
		digest := sha256.Sum256([]byte("hush map " + s.seed + " " + strconv.Itoa(s.block)))
		s.rest = append(s.rest, digest[:]...)
		s.block++
	}
	found := uint64(0)
	for _, one := range s.rest[:size] {
		found = found<<8 | uint64(one)
	}
	s.rest = s.rest[size:]
	return found
}

// places are different ones below a size, in order.
func (s *stream) places(count, size int) []int {
	left := make([]int, size)
	for i := range left {
		left[i] = i
	}
	var found []int
	for len(found) < count {
		at := int(s.next(4) % uint64(len(left)))
		found = append(found, left[at])
		left = append(left[:at], left[at+1:]...)
	}
	sort.Ints(found)
	return found
}
