package hush

import "math/big"

// additive reports a point of a lattice: the input plus noise whose period has independent binary digits.
type additive struct {
	domain  int // M of the specification: the lengths of the runs together
	reach   int
	decays  []uint64
	lengths []int
	weights []uint64
	total   uint64 // of length*weight
	law     fraction
}

func readAdditive(value any) (channel, error) {
	f := open(value, "kind", "runs", "decays", "reach")
	a := &additive{}
	for _, value := range f.array("runs") {
		a.readRun(f, value)
	}
	f.rule(len(a.lengths) > 0, "there must be a run")
	a.reach = f.size("reach", most(a.domain, 2), mostCells)
	a.decays = f.bigs("decays")
	m := 1
	for (1<<m-1)*a.domain+1 < a.reach && f.err == nil {
		m++
	}
	f.rule(len(a.decays) == m+1, "decays must be %d, one more than the digits of the reach", m+1)
	if f.err == nil {
		a.checkDecays(f)
	}
	return a, f.err
}

func (a *additive) readRun(f *fields, value any) {
	const mostDomain = 4096
	run, _ := value.([]any)
	f.rule(len(run) == 2, "runs must be pairs of a length and a weight")
	if f.err != nil {
		return
	}
	length, lengthOK := asInteger(run[0])
	weight, weightOK := asInteger(run[1])
	f.rule(lengthOK && 1 <= length && length <= mostDomain, "the length of a run must be an integer of 1 or more")
	f.rule(weightOK && 1 <= weight && weight < 1<<52, "the weight of a run must be an integer of 1 or more, below 2^52")
	n := len(a.weights)
	f.rule(n == 0 || uint64(weight) < a.weights[n-1], "weights of runs must decrease")
	if f.err != nil {
		return
	}
	a.lengths, a.weights = append(a.lengths, int(length)), append(a.weights, uint64(weight))
	a.domain += int(length)
	a.total += uint64(length) * uint64(weight) // below 4096 * 2^52
	f.rule(a.domain <= mostDomain, "the lengths of runs must add up to at most %d", mostDomain)
}

// checkDecays compares the period of the noise with the next, and the ends with what is heaped up there.
func (a *additive) checkDecays(f *fields) {
	m := len(a.decays) - 1
	first, last := whole(a.weights[0]), whole(a.weights[len(a.weights)-1])
	odds, heap := one, one // r_0 * ... * r_{t-1}, and p_0 * ... * p_{t-1}
	for t, d := range a.decays[:m] {
		step := odds.times(fraction{rest(d), whole(d)}) // F_t
		f.rule(fraction{last, big.NewInt(1)}.times(step).atLeast(fraction{first, big.NewInt(1)}),
			"decay %d must make each period less likely than the one before", t)
		if t == 0 || step.exceeds(a.law) {
			a.law = step
		}
		odds = odds.times(fraction{whole(d), rest(d)})
		heap = heap.times(fraction{whole(d), words})
	}
	d := a.decays[m]
	excess := fraction{new(big.Int).Sub(a.law.top, a.law.bottom), a.law.bottom} // F - 1; may be negative
	f.rule(excess.times(fraction{whole(d), words}).atLeast(heap.times(fraction{rest(d), words})),
		"the last decay must be large enough for the ends")
}

func (a *additive) fit(attributes []*attribute) error { return oneNumber(attributes, false) }

func (a *additive) ratio() fraction { return a.law }

func (a *additive) alphabet() alphabet { return alphabet{size: a.domain + 2*a.reach} }

func (a *additive) draw(c *coins, inputs []input) output {
	x, f := c.split(inputs[0].u, a.domain)
	x += int(c.up(f))
	period := 0
	for k, d := range a.decays {
		period |= int(c.toss(d)) << k
	}
	noise := period*a.domain + a.within(c.below(a.total))
	noise = choose(c.toss(1<<63), -1-noise, noise)
	end := a.domain + 2*a.reach - 1
	return output{symbol: clamp(x+a.reach+noise, end)}
}

// within is the place in a period that a number below the total stands for. It looks at all runs.
func (a *additive) within(x uint64) int {
	place, start, before := 0, 0, uint64(0)
	for i, length := range a.lengths {
		width := uint64(length) * a.weights[i]
		here := less(x-before, width) // x - before wraps around for runs behind, and is too large then
		place = choose(here, start+int((x-before)/a.weights[i]), place)
		start += length
		before += width
	}
	return place
}

// clamp moves x into 0..end.
func clamp(x, end int) int {
	x = choose(uint64(x)>>63, 0, x)
	return least(x, end)
}

// most is the larger of two numbers of a plan.
func most(a, b int) int {
	if a > b {
		return a
	}
	return b
}
