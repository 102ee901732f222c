package hush

import (
	"math/big"
)

const (
	mostCells    = 32768
	roundingBits = 24
	largestLevel = 1 << 30
)

// window reports a cell of a row: uniform in a window that holds the input with probability threshold / 2^64, else uniform
// outside.
type window struct {
	size, width int
	threshold   uint64
	optional    bool
	outside     int       // O of the specification
	inner       uint64    // words for each cell inside, T / W
	outer       uint64    // words for each cell outside, (R - T) / O
	knots       []float64 // nil for even levels
	slopes      []float64 // 1 / (knots[s+1] - knots[s])
	law         fraction
}

func readWindow(value any) (channel, error) { return readOneWindow(value) }

func readOneWindow(value any) (*window, error) {
	f := open(value, "kind", "size", "width", "threshold", "levels", "optional")
	w := &window{
		size:      f.size("size", 2, mostCells),
		threshold: f.big("threshold"),
		optional:  f.boolean("optional"),
	}
	w.width = f.size("width", 1, w.size-1)
	w.outside = w.size - w.width
	if w.optional {
		w.outside = w.size
	}
	others := 0 - w.threshold // R - T
	f.rule(w.threshold%(uint64(w.width)<<roundingBits) == 0, "threshold must be a multiple of 2^24 times the width")
	f.rule(others%(uint64(w.outside)<<roundingBits) == 0, "2^64 - threshold must be a multiple of 2^24 times the cells outside")
	w.inner, w.outer = w.threshold/uint64(w.width), others/uint64(w.outside)
	w.law = quotient(whole(w.threshold), whole(uint64(w.outside)), rest(w.threshold), whole(uint64(w.width)))
	f.rule(w.law.exceeds(one), "threshold must prefer the window")
	if levels, _ := f.values["levels"].(string); levels != "even" {
		w.readLevels(f)
	}
	return w, f.err
}

func (w *window) readLevels(f *fields) {
	var levels []int64
	values, _ := f.values["levels"].([]any)
	f.rule(len(values) == w.size, `levels must be "even" or an array of as many integers as the size`)
	for _, value := range values {
		level, ok := asInteger(value)
		f.rule(ok && -largestLevel <= level && level <= largestLevel, "levels must be integers of at most 2^30 in size")
		levels = append(levels, level)
	}
	if f.err != nil {
		return
	}
	for y := range levels {
		f.rule(levels[y] == -levels[w.size-1-y], "levels must be antisymmetric")
		f.rule(y == 0 || levels[y-1] <= levels[y], "levels must not decrease")
	}
	sums := make([]int64, w.size-w.width+1)
	for _, level := range levels[:w.width] {
		sums[0] += level
	}
	for s := 1; s < len(sums); s++ {
		sums[s] = sums[s-1] - levels[s-1] + levels[s-1+w.width]
		f.rule(sums[s] > sums[s-1], "the sum of the levels in a window must increase")
	}
	if f.err == nil {
		w.setKnots(sums)
	}
}

func (w *window) setKnots(sums []int64) {
	last := sums[len(sums)-1]
	for _, sum := range sums {
		knot := new(big.Int).Lsh(big.NewInt(sum+last), 53)
		knot.Quo(knot, big.NewInt(2*last))
		w.knots = append(w.knots, float64(knot.Uint64())/(1<<53)) // at most 2^53, so it is exact
	}
	for s := range w.knots[1:] {
		w.slopes = append(w.slopes, 1/(w.knots[s+1]-w.knots[s]))
	}
}

func (w *window) fit(attributes []*attribute) error { return oneNumber(attributes, w.optional) }

func (w *window) ratio() fraction { return w.law }

func (w *window) alphabet() alphabet {
	if w.optional {
		return alphabet{size: w.size + 1}
	}
	return alphabet{size: w.size}
}

// place is the first cell of the window below u, and how far u is from there to the next.
func (w *window) place(c *coins, u float64) (int, float64) {
	if w.knots == nil {
		return c.split(u, w.size-w.width)
	}
	s := -1
	for _, knot := range w.knots[:len(w.slopes)] {
		s += int(1 - lessFloat(u, knot)) // counts all, so that every u takes as long
	}
	return s, float64((u - w.knots[s]) * w.slopes[s])
}

func (w *window) draw(c *coins, inputs []input) output {
	y := c.word()
	missing := inputs[0].missing
	s, f := w.place(c, inputs[0].u)
	s += int(lessFloat(float64(y%(1<<roundingBits))+0.5, float64(f*(1<<roundingBits))))
	near := choose(missing, w.size, s+int(y/w.inner))
	other := int((y - w.threshold) / w.outer) // without meaning if y is below the threshold, and then not chosen
	far := choose(missing|less(uint64(other), uint64(s)), other, least(other+w.width, w.size))
	return output{symbol: choose(less(y, w.threshold), near, far)}
}
