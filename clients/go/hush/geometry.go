package hush

const (
	mostPoints = 1 << 22
	mostOrder  = 2047
	mostPower  = 128
	mostDigits = 22
)

// geometry reports a point of a projective geometry, which is orthogonal to the category's point with probability
// threshold / 2^64.
type geometry struct {
	size, order, digits int
	threshold           uint64
	inside, outside     uint64   // how many points are orthogonal to a given one, and how many are not
	powers              []uint64 // of the order
	firsts              []uint64 // the first point with each highest digit
	products            []uint64 // of all pairs of digits, if the order is no prime
	differences         []uint64
	inverses            []uint64
}

func readGeometry(value any) (channel, error) {
	f := open(value, "kind", "size", "order", "digits", "threshold")
	g := &geometry{threshold: f.big("threshold"), order: f.size("order", 2, mostOrder), digits: f.size("digits", 3, mostDigits)}
	prime := primeOf(g.order)
	f.rule(prime > 0 && (prime == g.order || g.order <= mostPower), "order must be a prime, or a power of one up to %d", mostPower)
	if f.err != nil {
		return nil, f.err
	}
	points, q := uint64(0), uint64(g.order)
	g.powers = []uint64{1}
	for i := 0; i < g.digits; i++ {
		g.firsts = append(g.firsts, points)
		points += g.powers[i]
		if points > mostPoints {
			f.refuse("its points must be at most %d", mostPoints)
			return nil, f.err
		}
		g.powers = append(g.powers, g.powers[i]*q)
	}
	g.inside, g.outside = g.firsts[g.digits-1], g.powers[g.digits-1]
	g.size = f.size("size", int(g.inside)+1, int(points))
	f.rule(f.err != nil || g.ratio().exceeds(one), "threshold must prefer orthogonal points")
	if f.err == nil {
		g.prepare(prime)
	}
	return g, f.err
}

// primeOf is the prime of which a number is a power, or 0.
func primeOf(order int) int {
	prime := 2
	for order%prime != 0 {
		prime++
	}
	for rest := order; ; rest /= prime {
		if rest == 1 {
			return prime
		}
		if rest%prime != 0 {
			return 0
		}
	}
}

// prepare makes the tables of the field.
func (g *geometry) prepare(prime int) {
	q := g.order
	g.inverses = make([]uint64, q)
	if q == prime {
		for a := 1; a < q; a++ {
			power := 1 // a^(q-2)
			for i := 0; i < q-2; i++ {
				power = power * a % q
			}
			g.inverses[a] = uint64(power)
		}
		return
	}
	combined := func(a, b, sign int) int {
		found := 0
		for unit := 1; unit < q; unit *= prime {
			found += (a/unit%prime + sign*(b/unit%prime) + prime) % prime * unit
		}
		return found
	}
	var powers []int
	logs := make([]int, q)
	for rest := 0; len(powers) < q-1; rest++ {
		multiples := []int{0}
		for len(multiples) < prime {
			multiples = append(multiples, combined(multiples[len(multiples)-1], rest, 1))
		}
		powers, logs = []int{1}, make([]int, q)
		for x := prime; x != 0 && x != 1 && logs[x] == 0; {
			logs[x] = len(powers)
			powers = append(powers, x)
			x = combined(x%(q/prime)*prime, multiples[x/(q/prime)], -1)
		}
	}
	g.products, g.differences = make([]uint64, q*q), make([]uint64, q*q)
	for a := 0; a < q; a++ {
		for b := 0; b < q; b++ {
			g.differences[a*q+b] = uint64(combined(a, b, -1))
			if a > 0 && b > 0 {
				g.products[a*q+b] = uint64(powers[(logs[a]+logs[b])%(q-1)])
			}
			if g.products[a*q+b] == 1 {
				g.inverses[a] = uint64(b)
			}
		}
	}
}

func (g *geometry) fit(attributes []*attribute) error { return oneCategory(attributes, g.size) }

func (g *geometry) ratio() fraction {
	return quotient(whole(g.threshold), whole(g.outside), rest(g.threshold), whole(g.inside))
}

func (g *geometry) alphabet() alphabet {
	return alphabet{size: int(g.firsts[g.digits-1] + g.powers[g.digits-1]), sparse: true}
}

// highest is the place of the highest digit of a point of at most count digits. It compares with all.
func (g *geometry) highest(point uint64, count int) int {
	found := 0
	for i := 1; i < count; i++ {
		found += int(1 - less(point, g.firsts[i]))
	}
	return found
}

// written is the number that the digits of a point write.
func (g *geometry) written(point uint64, count int) uint64 {
	at := g.highest(point, count)
	return point + g.powers[at] - g.firsts[at]
}

func (g *geometry) times(a, b uint64) uint64 {
	if g.products == nil {
		return a * b % uint64(g.order)
	}
	return g.products[int(a)*g.order+int(b)]
}

func (g *geometry) minus(a, b uint64) uint64 {
	if g.products == nil {
		return (a + uint64(g.order) - b) % uint64(g.order)
	}
	return g.differences[int(a)*g.order+int(b)]
}

func (g *geometry) draw(c *coins, inputs []input) output {
	q, t := uint64(g.order), g.digits
	near := c.toss(g.threshold)
	inside, outside := c.below(g.inside), c.below(g.outside)
	free := choose(near, g.written(inside, t-1), outside)
	truth := uint64(inputs[0].index)
	value := g.written(truth, t)
	solved := t - 1 - g.highest(truth, t)
	low := free % g.powers[solved]
	free = (free-low)*q + low
	vector := make([]uint64, t)
	left := 1 - near
	for i := range vector {
		vector[i] = free / g.powers[i] % q
		left = g.minus(left, g.times(vector[i], value/g.powers[t-1-i]%q))
	}
	vector[solved] = left
	var top, lead uint64
	for i, digit := range vector {
		here := less(0, digit)
		top, lead = choose(here, uint64(i), top), choose(here, digit, lead)
	}
	inverse, found := g.inverses[lead], uint64(0)
	for i, digit := range vector {
		found += g.times(inverse, digit) * g.powers[i]
	}
	return output{symbol: int(found - g.powers[top] + g.firsts[top])}
}
