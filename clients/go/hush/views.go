package hush

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

const (
	mostCuts      = 4095
	shortestReach = 1.0 / (1 << 20)
)

// view is what a question sees of a record: a public function of one or two inputs, which gives the input of one
// attribute. Channels know nothing of views.
type view struct {
	of   []string
	seen *attribute // what it gives
	// look takes the same steps for all values: a missing number counts as one until the end.
	look func(inputs []input) input
}

// readView reads a view of any kind.
func readView(value any, schema []*attribute) (*view, error) {
	kind, _ := value.(object)
	var f *fields
	var v *view
	switch kind["kind"] {
	case "value":
		f = open(value, "kind", "of")
		v, places := f.view(schema, 1)
		if f.err != nil {
			return nil, f.err
		}
		v.seen = schema[places[0]]
		v.look = func(inputs []input) input { return inputs[places[0]] }
		return v, nil
	case "bands":
		f = open(value, "kind", "of", "cuts")
		v = f.bands(schema)
	case "sides":
		f = open(value, "kind", "of", "cuts")
		v = f.sides(schema)
	case "product":
		f = open(value, "kind", "of", "centres", "reach")
		v = f.product(schema)
	case "member":
		f = open(value, "kind", "of", "value")
		v = f.member(schema)
	case "prefix":
		f = open(value, "kind", "of", "chunks", "points")
		v = f.prefix(schema)
	case "among":
		f = open(value, "kind", "of", "values")
		v = f.among(schema)
	default:
		return nil, fmt.Errorf("the kind of a view must be value, bands, sides, product, member, prefix or among")
	}
	return v, f.err
}

// member is whether one value of choices is held: no, yes, or missing.
func (f *fields) member(schema []*attribute) *view {
	v, places := f.view(schema, 1)
	a, text, place := schema[places[0]], f.text("value"), -1
	if a.most > 0 && len(text) <= longestText*4 {
		key := textKey(text)
		for j := range a.texts {
			if a.texts[j] == key {
				place = j
			}
		}
	}
	f.rule(place >= 0, "attribute %q: a member must be one of its choices", a.name)
	v.seen = &attribute{name: a.name, optional: a.optional, integers: make([]uint64, 2)}
	v.look = func(inputs []input) input { return input{index: int(inputs[places[0]].marks[place])} }
	return v
}

// view finds the attributes of a view. Their places are 0 if a rule is broken.
func (f *fields) view(schema []*attribute, count int) (*view, []int) {
	v, places := &view{}, make([]int, count)
	names := f.array("of")
	f.rule(len(names) == count, "of must be the names of attributes, %d in all", count)
	for i := 0; i < len(names) && f.err == nil; i++ {
		name, found := "", false
		for place, a := range schema {
			if a.name == names[i] {
				name, places[i], found = a.name, place, true
			}
		}
		f.rule(found, "of must name attributes of the schema")
		v.of = append(v.of, name)
	}
	return v, places
}

// numbers finds the attributes of a view of numbers, and says whether one of them may be missing.
func (f *fields) numbers(schema []*attribute, count int) (v *view, places []int, optional bool) {
	v, places = f.view(schema, count)
	for _, place := range places {
		f.rule(schema[place].numeric(), "attribute %q: this view is of a number, and it is a category", schema[place].name)
		optional = optional || schema[place].optional
	}
	return v, places, optional
}

// cut is the position of a cut in the domain of a number. Nothing may lie above the upper end.
func (f *fields) cut(value any, a *attribute) float64 {
	cut := f.float("cuts", value)
	position := float64(cut-a.low) / float64(a.high-a.low)
	f.rule(a.low <= cut && position < 1, "attribute %q: cuts must be from %s to below %s, and not too close to that", a.name,
		formatFloat(a.low), formatFloat(a.high))
	return position
}

func (f *fields) bands(schema []*attribute) *view {
	v, places, optional := f.numbers(schema, 1)
	a := schema[places[0]]
	cuts := f.array("cuts")
	f.rule(1 <= len(cuts) && len(cuts) <= mostCuts, "attribute %q: cuts must be 1 to %d", a.name, mostCuts)
	var positions []float64
	for i := 0; i < len(cuts) && f.err == nil; i++ {
		positions = append(positions, f.cut(cuts[i], a))
		f.rule(i == 0 || positions[i-1] < positions[i], "attribute %q: cuts must increase, and not lie too close to each other", a.name)
	}
	v.seen = &attribute{name: a.name, optional: optional, integers: make([]uint64, len(cuts)+1)}
	v.look = func(inputs []input) input {
		x, band := inputs[places[0]], 0
		for _, position := range positions {
			band += int(lessFloat(position, x.u)) // counts all, so that every number takes as long
		}
		return input{index: choose(x.missing, len(positions)+1, band)}
	}
	return v
}

func (f *fields) sides(schema []*attribute) *view {
	v, places, optional := f.numbers(schema, 2)
	cuts := f.array("cuts")
	f.rule(len(cuts) == 2, "cuts must be 2")
	if f.err != nil {
		return nil
	}
	a, b := f.cut(cuts[0], schema[places[0]]), f.cut(cuts[1], schema[places[1]])
	v.seen = &attribute{optional: optional, integers: make([]uint64, 2)}
	v.look = func(inputs []input) input {
		x, y := inputs[places[0]], inputs[places[1]]
		different := int(lessFloat(a, x.u) ^ lessFloat(b, y.u))
		return input{index: choose(x.missing|y.missing, 2, different)}
	}
	return v
}

func (f *fields) product(schema []*attribute) *view {
	v, places, optional := f.numbers(schema, 2)
	centres := f.array("centres")
	f.rule(len(centres) == 2, "centres must be 2")
	reach := f.float("reach", f.values["reach"])
	f.rule(shortestReach <= reach && reach <= 1, "reach must be from 2^-20 to 1")
	if f.err != nil {
		return nil
	}
	var middle [2]float64
	for i, place := range places {
		a, centre := schema[place], f.float("centres", centres[i])
		f.rule(a.low <= centre && centre <= a.high, "attribute %q: the centre must be from %s to %s", a.name,
			formatFloat(a.low), formatFloat(a.high))
		middle[i] = float64(centre-a.low) / float64(a.high-a.low)
	}
	v.seen = &attribute{optional: optional}
	v.look = func(inputs []input) input {
		x, y := inputs[places[0]], inputs[places[1]]
		product := float64(float64(x.u-middle[0])*float64(y.u-middle[1])) / reach
		clipped := math.Min(math.Max(product, -1), 1)
		return input{u: float64(clipped+1) / 2, missing: x.missing | y.missing}
	}
	return v
}

// float is a finite float in its canonical form.
func (f *fields) float(name string, value any) float64 {
	number, _ := value.(json.Number)
	found, err := strconv.ParseFloat(string(number), 64)
	if err != nil || formatFloat(found) != string(number) || found == 0 && math.Signbit(found) {
		f.refuse("%s must be a finite number in its canonical form, as 0.0", name)
		return 0
	}
	return found
}
