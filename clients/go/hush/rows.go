package hush

import "fmt"

const mostRowCells = 65536

// rows reports a category and a number together: weight rows of a table, with a cell in each. With probability
// threshold / 2^64 the report names the true row with a cell of the number's window.
type rows struct {
	levels
	count, weight int
	threshold     uint64
	group         int // outputs of a row: its cells, and "missing"
	cells         int // cells of a row, with those of "missing": N of the specification
	without       int // in proportion to the reports that do not have the person in them
}

func readRows(value any) (channel, error) {
	f := open(value, "kind", "rows", "weight", "size", "width", "threshold", "levels", "optional")
	r := &rows{count: f.size("rows", 2, mostCategories), threshold: f.big("threshold")}
	r.weight = f.size("weight", 1, r.count-1)
	r.levels = f.levels()
	r.group, r.cells = r.size, r.size
	if r.optional {
		r.group, r.cells = r.size+1, r.size+r.width
	}
	f.rule(r.count*r.group <= mostRowCells, "there must be at most %d cells", mostRowCells)
	r.without = r.count*r.cells - r.weight*r.width
	f.rule(f.err != nil || r.ratio().exceeds(one), "threshold must prefer reports that have the person in them")
	return r, f.err
}

func (r *rows) fit(attributes []*attribute) error {
	if len(attributes) != 2 || oneCategory(attributes[:1], r.count) != nil || oneNumber(attributes[1:], r.optional) != nil {
		return fmt.Errorf("it needs a category with %d categories and then a number, optional if and only if the channel is", r.count)
	}
	return nil
}

func (r *rows) ratio() fraction {
	return quotient(whole(r.threshold), whole(uint64(r.without)), rest(r.threshold), whole(uint64(r.weight*r.width)))
}

func (r *rows) alphabet() alphabet {
	return alphabet{size: r.count * r.group, set: r.weight > 1, members: r.weight, group: r.group}
}

func (r *rows) draw(c *coins, inputs []input) output {
	row, x := inputs[0].index, inputs[1]
	s, f := r.place(c, x.u)
	start := choose(x.missing, r.size, s+int(c.up(f)))
	here := c.toss(r.threshold)
	within := start + int(c.below(uint64(r.width)))
	place := c.below(uint64(r.without))
	beyond := uint64(r.cells - r.width)
	beside := int(place % beyond)
	beside += r.width * int(1-less(uint64(beside), uint64(start)))
	named := around(c, r.count, r.weight, row, here|less(place, uint64(r.weight)*beyond))
	mine := choose(here, within, beside)
	out := output{}
	if r.weight > 1 {
		out.set = make([]byte, r.count*r.group)
	}
	cells := make([]uint64, r.weight)
	for i := range cells {
		cells[i] = uint64(r.cells)
	}
	drawn := c.several(cells)
	for j, in := range named {
		if in == 0 { // the output says which are in
			continue
		}
		cell := drawn[0]
		drawn = drawn[1:]
		member := j*r.group + least(choose(same(uint64(j), uint64(row)), mine, cell), r.size)
		if r.weight > 1 {
			out.set[member] = 1
		} else {
			out.symbol = member
		}
	}
	return out
}
