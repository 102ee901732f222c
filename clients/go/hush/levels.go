package hush

import "math/big"

const (
	mostCells    = 32768
	largestLevel = 1 << 30
)

// levels is a row of cells, in which windows of neighbouring cells stand for numbers.
type levels struct {
	size, width int
	optional    bool
	knots       []float64 // nil for even levels
	slopes      []float64 // 1 / (knots[s+1] - knots[s])
}

// levels reads the fields size, width, levels and optional.
func (f *fields) levels() levels {
	l := levels{size: f.size("size", 2, mostCells), optional: f.boolean("optional")}
	l.width = f.size("width", 1, l.size-1)
	if even, _ := f.values["levels"].(string); even != "even" {
		l.read(f)
	}
	return l
}

func (l *levels) read(f *fields) {
	var found []int64
	values, _ := f.values["levels"].([]any)
	f.rule(len(values) == l.size, `levels must be "even" or an array of as many integers as the size`)
	for _, value := range values {
		level, ok := asInteger(value)
		f.rule(ok && -largestLevel <= level && level <= largestLevel, "levels must be integers of at most 2^30 in size")
		found = append(found, level)
	}
	if f.err != nil {
		return
	}
	for y := range found {
		f.rule(found[y] == -found[l.size-1-y], "levels must be antisymmetric")
		f.rule(y == 0 || found[y-1] <= found[y], "levels must not decrease")
	}
	sums := make([]int64, l.size-l.width+1)
	for _, level := range found[:l.width] {
		sums[0] += level
	}
	for s := 1; s < len(sums); s++ {
		sums[s] = sums[s-1] - found[s-1] + found[s-1+l.width]
		f.rule(sums[s] > sums[s-1], "the sum of the levels in a window must increase")
	}
	if f.err == nil {
		l.setKnots(sums)
	}
}

// setKnots places the windows where these numbers lie, which increase: the first at 0, the last at 1.
func (l *levels) setKnots(numbers []int64) {
	first, last := numbers[0], numbers[len(numbers)-1]
	for _, number := range numbers {
		knot := new(big.Int).Lsh(big.NewInt(number-first), 53)
		knot.Quo(knot, big.NewInt(last-first))
		l.knots = append(l.knots, float64(knot.Uint64())/(1<<53)) // at most 2^53, so it is exact
	}
	for s := range l.knots[1:] {
		l.slopes = append(l.slopes, 1/(l.knots[s+1]-l.knots[s]))
	}
}

// place is the first cell of the window below u, and how far u is from there to the next.
func (l *levels) place(c *coins, u float64) (int, float64) {
	if l.knots == nil {
		return c.split(u, l.size-l.width)
	}
	s := -1
	for _, knot := range l.knots[:len(l.slopes)] {
		s += int(1 - lessFloat(u, knot)) // counts all, so that every u takes as long
	}
	return s, float64((u - l.knots[s]) * l.slopes[s])
}
