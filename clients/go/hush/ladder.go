package hush

const (
	fewestKnots = 3
	mostKnots   = 129
	largestKnot = 1 << 44
)

// readLadder makes a window channel whose windows lie where the knots of a wide number are.
func readLadder(value any) (channel, error) {
	f := open(value, "kind", "knots", "width", "threshold", "optional")
	w := &window{levels: levels{optional: f.boolean("optional")}}
	var knots []int64
	values := f.array("knots")
	f.rule(fewestKnots <= len(values) && len(values) <= mostKnots, "knots must be %d to %d", fewestKnots, mostKnots)
	for i, value := range values {
		knot, ok := asInteger(value)
		f.rule(ok && 0 <= knot && knot <= largestKnot, "knots must be integers from 0 to 2^44")
		f.rule(i > 0 || knot == 0, "the first knot must be 0")
		f.rule(i == 0 || knots[i-1] < knot, "knots must increase")
		knots = append(knots, knot)
	}
	w.width = f.size("width", 1, most(len(knots)-1, 1))
	w.size = len(knots) - 1 + w.width
	if f.err != nil {
		return nil, f.err
	}
	w.setKnots(knots)
	w.readThreshold(f)
	return w, f.err
}
