package hush

const roundingBits = 24

// window reports a cell of a row: uniform in a window that holds the input with probability threshold / 2^64, else uniform
// outside.
type window struct {
	levels
	threshold uint64
	outside   int    // O of the specification
	inner     uint64 // words for each cell inside, T / W
	outer     uint64 // words for each cell outside, (R - T) / O
	law       fraction
}

func readWindow(value any) (channel, error) { return readOneWindow(value) }

func readOneWindow(value any) (*window, error) {
	f := open(value, "kind", "size", "width", "threshold", "levels", "optional")
	w := &window{levels: f.levels()}
	w.readThreshold(f)
	return w, f.err
}

// readThreshold reads the field threshold, and checks it against the cells.
func (w *window) readThreshold(f *fields) {
	w.threshold = f.big("threshold")
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
}

func (w *window) fit(attributes []*attribute) error { return oneNumber(attributes, w.optional) }

func (w *window) ratio() fraction { return w.law }

func (w *window) alphabet() alphabet {
	if w.optional {
		return alphabet{size: w.size + 1}
	}
	return alphabet{size: w.size}
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
