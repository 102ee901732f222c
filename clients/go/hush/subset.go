package hush

const mostCategories = mostValues + 1

// subset reports a set of weight categories, which has the true one with probability threshold / 2^64.
type subset struct {
	size, weight int
	threshold    uint64
}

func readSubset(value any) (channel, error) {
	f := open(value, "kind", "size", "weight", "threshold")
	s := &subset{size: f.size("size", 2, mostCategories), threshold: f.big("threshold")}
	s.weight = f.size("weight", 1, s.size-1)
	f.rule(s.ratio().exceeds(one), "threshold must prefer the true category")
	return s, f.err
}

func (s *subset) fit(attributes []*attribute) error { return oneCategory(attributes, s.size) }

func (s *subset) ratio() fraction {
	return quotient(whole(s.threshold), whole(uint64(s.size-s.weight)), rest(s.threshold), whole(uint64(s.weight)))
}

func (s *subset) alphabet() alphabet {
	return alphabet{size: s.size, set: s.weight > 1, members: s.weight}
}

func (s *subset) draw(c *coins, inputs []input) output {
	set := around(c, s.size, s.weight, inputs[0].index, c.toss(s.threshold))
	if s.weight > 1 {
		return output{set: set}
	}
	symbol := 0
	for i, in := range set {
		symbol += i * int(in)
	}
	return output{symbol: symbol}
}

// around draws a set of weight categories, which has the true one if with is 1. The other categories are numbered without
// the true one first.
func around(c *coins, size, weight, truth int, with uint64) []byte {
	others := make([]byte, size) // the last place stays empty
	live := 1 - with             // for the first, which is drawn in any case
	for i, j := range c.several(rising(size-weight, weight)) {
		floyd(others, size-weight+i-1, j, live)
		live = 1
	}
	set := make([]byte, size)
	before := byte(0)
	for i, in := range others {
		behind := choose(less(uint64(truth), uint64(i)), uint64(before), uint64(in))
		set[i] = byte(choose(same(uint64(i), uint64(truth)), with, behind))
		before = in
	}
	return set
}
