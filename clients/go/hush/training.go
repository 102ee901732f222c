package hush

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const (
	phaseVersion  = 4
	mostRounds    = 1 << 20
	mostFeatures  = 1023
	largestWeight = 1e40
)

// A Training teaches a linear model: each person answers one of its plans, once.
type Training struct {
	title, seed, loss, gradient string
	schema                      []*attribute
	label                       *attribute
	epsilon, radius, bound, cap float64
	rounds, against             int // against is -1 if no class is told apart
	projection                  int // 0 if there is none
	intercept                   bool
	ordered                     map[string]bool
	centre, scale               []float64
	featureMap                  *featureMap // nil if there is none
	lift                        *lift
	parts                       []part
	dimensions, width           int
	values                      object
}

// part is the features from start on that belong together: a number, or the indicators of a category.
type part struct {
	start, indicators int
	number            bool
}

// A Phase is what a collector sends to the people of a training: a round, a stage of its pilot, or, for held-out people, a
// check. ParsePhase makes one.
type Phase struct {
	training    *Training
	plan        *Plan
	stage       string // empty for a round and a check
	check       bool
	number      int
	weights     []float64
	coordinates []int
	middle      []float64
	near        int
}

// Plan is the plan that a person answers. It was checked in full.
func (p *Phase) Plan() *Plan { return p.plan }

// Training is the training of the phase.
func (p *Phase) Training() *Training { return p.training }

// Done says whether the training is over.
func (p *Phase) Done() bool { return p.stage == "" && p.number > p.training.rounds }

// HeldOut says whether this is a check: people report the loss of the model so far, and take part in nothing else.
func (p *Phase) HeldOut() bool { return p.check }

// Place is where a collector takes the answers, behind the address of the training.
func (p *Phase) Place() string {
	if p.stage != "" {
		return "pilot?stage=" + p.stage
	}
	if p.check {
		return "losses?round=" + strconv.Itoa(p.number)
	}
	return "gradients?round=" + strconv.Itoa(p.number)
}

// Family is the beginning of the titles of all plans of the training.
func (t *Training) Family() string { return t.title + " [" + t.seed + "]: " }

var classes = regexp.MustCompile(`( \(class [0-9]+\))*$`)

// Subject is a name of a training without classes at its end. An app names a training, and a server chooses its seed, and whether
// "h (class 1)" is a class of the title "h" or a title. A person answers one plan of all trainings with the same subject.
func Subject(name string) string { return name[:classes.FindStringIndex(name)[0]] }

var anySeed = regexp.MustCompile(`^(?s:( \(class [0-9]+\))* \[.*\]: )`)

// Under says whether a plan with this title may be one of a training with this subject, whatever its seed.
func Under(subject, title string) bool {
	return strings.HasPrefix(title, subject) && anySeed.MatchString(title[len(subject):])
}

// Title is the title of the training.
func (t *Training) Title() string { return t.title }

// Description is the schema and the label in canonical form, which decide whether a record fits, and the map if there is one.
func (t *Training) Description() []byte {
	described := []any{t.values["schema"], t.values["label"]}
	if t.featureMap != nil {
		described = append(described, t.values["map"])
	}
	return canonical(described)
}

// Name is the name of the training in a collector.
func (t *Training) Name() string {
	if t.against < 0 {
		return t.title
	}
	return fmt.Sprintf("%s (class %d)", t.title, t.against+1)
}

func (t *Training) branch() string {
	if t.against < 0 {
		return ""
	}
	return fmt.Sprintf("class %d, ", t.against+1)
}

// ParsePhase reads a round, a stage or a check, and checks all of it, the privacy of its plan included.
func ParsePhase(text []byte) (*Phase, error) {
	value, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("round: %w", err)
	}
	p, err := readPhase(value)
	if err != nil {
		return nil, fmt.Errorf("round: %w", err)
	}
	return p, nil
}

func readPhase(value any) (*Phase, error) {
	values, _ := value.(object)
	names := []string{"hush", "training", "plan", "number", "weights", "coordinates", "average", "averaged"}
	if _, staged := values["stage"]; staged {
		names = []string{"hush", "training", "plan", "stage", "known"}
	} else if _, checks := values["check"]; checks {
		names = []string{"hush", "training", "plan", "check", "weights"}
	}
	f := open(value, names...)
	if f.integer("hush", phaseVersion, phaseVersion); f.err != nil {
		return nil, f.err
	}
	p := &Phase{}
	if p.training, f.err = readTraining(values["training"]); f.err != nil {
		return nil, f.err
	}
	var title string
	var schema []any
	switch names[3] {
	case "stage":
		title, schema = p.readStage(f)
	case "check":
		title, schema = p.readCheck(f)
	default:
		title, schema = p.readRound(f)
	}
	if f.err != nil {
		return nil, f.err
	}
	if p.plan, f.err = ParsePlan(canonical(values["plan"])); f.err != nil {
		return nil, f.err
	}
	asked := values["plan"].(object)["schema"]
	f.rule(p.plan.title == p.training.Family()+p.training.branch()+title && p.plan.epsilon == formatFloat(p.training.epsilon) && p.plan.after == "" &&
		string(canonical(asked)) == string(canonical(schema)), "the plan must have the title, the epsilon and the questions of its training, and follow no other")
	p.near = len(p.plan.schema)
	if q, ok := p.plan.questions[0].channel.(*corners); ok && len(p.plan.questions) == 1 {
		p.near = q.near
	}
	return p, f.err
}

func numberNamed(name, low string) any { return numberWithin(name, low, "1.0") }

func numberWithin(name, low, high string) any {
	return object{"kind": "numeric", "name": name, "low": json.Number(low), "high": json.Number(high), "out_of_range": "error",
		"optional": false, "scale": "linear", "unit": nil}
}

func categoryNamed(name string, most int) any {
	var values []any
	for i := 0; i <= most; i++ {
		values = append(values, json.Number(strconv.Itoa(i)))
	}
	return object{"kind": "categorical", "name": name, "values": values, "optional": false}
}

func (p *Phase) readCheck(f *fields) (string, []any) {
	t := p.training
	p.check, p.number = true, f.size("check", 1, t.rounds+1)
	p.weights = f.floats("weights", t.width)
	for _, weight := range p.weights {
		f.rule(math.Abs(weight) <= largestWeight, "weights must be at most 1e40")
	}
	return "loss " + strconv.Itoa(p.number), []any{numberWithin("loss", "0.0", formatFloat(t.cap))}
}

func (p *Phase) readRound(f *fields) (string, []any) {
	t := p.training
	p.number = f.size("number", 1, t.rounds+1)
	f.size("averaged", 0, t.rounds)
	p.weights = f.floats("weights", t.width)
	for _, weight := range append(f.floats("average", t.width), p.weights...) {
		f.rule(math.Abs(weight) <= largestWeight, "weights must be at most 1e40")
	}
	next := int64(0)
	for _, value := range f.array("coordinates") {
		j, ok := asInteger(value)
		f.rule(ok && next <= j && j < int64(t.width), "coordinates must be different integers, in order, among the weights")
		next = j + 1
		p.coordinates = append(p.coordinates, int(j))
	}
	f.rule(len(p.coordinates) > 0, "coordinates must be one or more")
	size := len(p.coordinates)
	if t.gradient == "vector" {
		size = paddedSize(size)
	}
	var schema []any
	for j := 0; j < size && f.err == nil; j++ {
		schema = append(schema, numberNamed("g"+strconv.Itoa(j), "-1.0"))
	}
	return "round " + strconv.Itoa(p.number), schema
}

// asksTarget says whether the target is asked for as a number; otherwise the class is, among the categories.
func (t *Training) asksTarget() bool {
	for _, part := range t.parts {
		if !part.number {
			return t.loss == "squared"
		}
	}
	return true
}

func (p *Phase) readStage(f *fields) (string, []any) {
	t, low := p.training, "-1.0"
	p.stage = f.text("stage")
	if p.stage == "spreads" {
		low = "0.0"
	}
	var numeric, shares []any
	for _, part := range t.parts {
		name := "x" + strconv.Itoa(part.start)
		if part.number {
			numeric = append(numeric, numberNamed(name, low))
		} else {
			shares = append(shares, categoryNamed(name, part.indicators))
		}
	}
	if t.asksTarget() {
		numeric = append(numeric, numberNamed("target", low))
	} else {
		shares = append([]any{categoryNamed("target", 1)}, shares...)
	}
	var names []string
	if len(numeric) > 0 {
		names = append(names, "means", "spreads")
	}
	if len(shares) > 0 {
		names = append(names, "shares")
	}
	index := -1
	for i, name := range names {
		if name == p.stage {
			index = i
		}
	}
	known := f.array("known")
	f.rule(index >= 0 && len(known) == index, "a stage must be one of the training's, with the estimates of all earlier ones")
	for i, rows := range known {
		pairs, ok := rows.([]any)
		f.rule(ok && len(pairs) == len(numeric), "a stage must have an estimate for each question of the earlier ones")
		for _, pair := range pairs {
			both := asNumbers(f, pair, 2, "an estimate")
			if i == 0 && f.err == nil {
				p.middle = append(p.middle, shrunk(both[0], both[1]))
			}
		}
	}
	if p.stage == "shares" {
		return p.stage, shares
	}
	return p.stage, numeric
}

// number is a finite number; it is 1 if the field is bad.
func (f *fields) number(name string) float64 {
	value, ok := finite(f.values[name])
	if !ok {
		f.refuse("%s must be a finite number", name)
		return 1
	}
	return value
}

func (f *fields) floats(name string, count int) []float64 {
	return asNumbers(f, f.values[name], count, name)
}

func asNumbers(f *fields, value any, count int, what string) []float64 {
	values, ok := value.([]any)
	f.rule(ok && len(values) == count, "%s must be %d numbers", what, count)
	var found []float64
	for _, value := range values {
		number, ok := finite(value)
		f.rule(ok, "%s must be finite numbers", what)
		found = append(found, number)
	}
	return found
}

func finite(value any) (float64, bool) {
	text, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseFloat(string(text), 64)
	return number, err == nil
}

func oneOf(text string, known ...string) bool {
	for _, one := range known {
		if text == one {
			return true
		}
	}
	return false
}

func readTraining(value any) (*Training, error) {
	names := []string{"title", "loss", "schema", "label", "epsilon", "rounds", "step", "gradient", "radius", "bound", "k", "penalty", "decay",
		"box", "tail", "rising", "intercept", "ordered", "centre", "scale", "projection", "selection", "start", "cap", "against", "seed"}
	if values, _ := value.(object); values != nil {
		if _, mapped := values["map"]; mapped {
			names = append(names, "map")
		}
	}
	f := open(value, names...)
	if f.err != nil {
		return nil, f.err
	}
	t := &Training{title: f.text("title"), seed: f.text("seed"), loss: f.text("loss"), gradient: f.text("gradient"), against: -1,
		epsilon: f.number("epsilon"), radius: f.number("radius"), bound: f.number("bound"), cap: f.number("cap"), intercept: f.boolean("intercept"),
		rounds: f.size("rounds", 1, mostRounds), ordered: map[string]bool{}, values: f.values}
	f.rule(printable(t.title, 1, longestName) && printable(t.seed, 1, longestName), "title and seed must have 1 to %d printable characters", longestName)
	f.rule(oneOf(t.loss, "squared", "logistic", "hinge"), "loss must be squared, logistic or hinge")
	f.rule(oneOf(t.gradient, "vector", "minimax", "hybrid", "piecewise", "piecewise-sub", "duchi", "laplace", "scdf", "staircase", "duchi-multi",
		"cube"), "gradient must be known")
	for _, name := range []string{"epsilon", "step", "radius", "bound", "cap"} {
		f.rule(f.number(name) > 0, "%s must be above 0", name)
	}
	f.rule(0.001 <= t.epsilon && t.epsilon <= 16, "epsilon must be from 0.001 to 16")
	f.rule(f.number("penalty") >= 0, "penalty must be at least 0")
	tail := f.number("tail")
	f.rule(0 <= tail && tail <= 1, "tail must be from 0 to 1")
	f.rule(f.values["box"] == nil || f.number("box") > 0, "box must be null or above 0")
	f.boolean("decay")
	f.boolean("rising")
	if k, ok := f.values["k"].(string); !ok || !oneOf(k, "best", "paper") {
		f.integer("k", 1, mostAttributes)
	}
	if f.err == nil {
		t.schema, f.err = readSchema(f.values["schema"])
	}
	if f.err != nil {
		return nil, f.err
	}
	t.readFeatures(f)
	t.readLabel(f)
	if f.err == nil {
		t.readSizes(f)
	}
	if f.err == nil && t.featureMap != nil {
		t.lift = t.lifted()
	}
	return t, f.err
}

func (t *Training) readFeatures(f *fields) {
	known := map[string]*attribute{}
	for _, a := range t.schema {
		known[a.name] = a
		f.rule(a.text == nil && a.most == 0, "attribute %q: a feature must be a number or a category", a.name)
	}
	for _, value := range f.array("ordered") {
		name, ok := value.(string)
		a := known[name]
		f.rule(ok && a != nil && !t.ordered[name] && len(a.integers)+len(a.texts) >= 2,
			"ordered must name categories of two values or more, each once")
		t.ordered[name] = true
	}
	for _, a := range t.schema {
		if a.numeric() {
			t.add(part{number: true}, 1)
			if a.optional {
				t.add(part{indicators: 1}, 1)
			}
			continue
		}
		size := a.categories() - 1
		if t.ordered[a.name] {
			t.add(part{indicators: size}, size+1)
		} else {
			t.add(part{indicators: size}, size)
		}
	}
	f.rule(t.dimensions >= 1 && t.dimensions <= mostFeatures, "there must be 1 to %d features", mostFeatures)
}

func (t *Training) add(one part, size int) {
	one.start = t.dimensions
	t.parts = append(t.parts, one)
	t.dimensions += size
}

func (t *Training) readLabel(f *fields) {
	g := open(f.values["label"], "attribute", "targets")
	if g.err != nil {
		f.refuse("the label %w", g.err)
		return
	}
	f.rule(string(canonical(g.values["targets"])) == "[-1,1]", "targets must be -1 and 1")
	label, err := readAttribute(g.values["attribute"])
	if err != nil {
		f.refuse("the label: %w", err)
		return
	}
	t.label = label
	classes := len(label.integers) + len(label.texts)
	if f.values["against"] != nil && classes > 0 {
		t.against = f.size("against", 0, classes-1)
	}
	told := f.values["against"] != nil
	plain := label.text == nil && label.most == 0 && !label.other && !label.optional
	f.rule(plain && (t.loss == "squared") == label.numeric() && (classes == 2) == (!label.numeric() && !told) && !(label.numeric() && told),
		"the label must fit the loss, and must be neither optional nor open")
	for _, a := range t.schema {
		f.rule(a.name != label.name, "the label must not be a feature")
	}
}

func (t *Training) readSizes(f *fields) {
	t.width = t.dimensions
	if t.intercept {
		t.width++
	}
	if _, mapped := f.values["map"]; mapped {
		if t.featureMap = readMap(f, t.dimensions); f.err != nil {
			return
		}
		t.width += t.featureMap.count
		f.rule(t.width <= mostAttributes, "there must be at most %d features and units", mostAttributes)
		f.rule(f.values["projection"] == nil, "a training must not have both a map and a projection")
	}
	if f.values["projection"] != nil {
		t.projection = f.size("projection", 1, t.dimensions)
		t.width = t.projection
	}
	if f.values["centre"] != nil {
		t.centre = f.floats("centre", t.dimensions)
	}
	if f.values["scale"] != nil {
		t.scale = f.floats("scale", t.dimensions)
	}
	for _, one := range t.centre {
		f.rule(one == 0 || plain(math.Abs(one)), "centre must be 0, or from 1e-100 to 1e100 in size")
	}
	for _, one := range t.scale {
		f.rule(plain(one), "scale must be from 1e-100 to 1e100")
	}
	if f.values["start"] != nil {
		f.floats("start", t.width)
	}
	if f.values["selection"] != nil {
		values := f.array("selection")
		found := f.floats("selection", 3)
		for i := 0; i < 2 && f.err == nil; i++ {
			n, ok := asInteger(values[i])
			f.rule(ok && 1 <= n && n <= mostRounds, "selection must begin with two integers from 1 to %d", mostRounds)
		}
		f.rule(f.err != nil || found[2] >= 0, "selection must end with a number of at least 0")
	}
}

// plain says whether a centre or a scale is of a size that never makes a feature subnormal.
func plain(size float64) bool { return size >= 1e-100 && size <= 1e100 }

// Randomise is a person's private answer to a round, stage or check. A record or label that does not fit is refused before anything
// is drawn. Every call draws anew, and costs the epsilon again: a device keeps a ledger.
func (p *Phase) Randomise(record Record, label any) (*Report, error) {
	if p.Done() {
		return nil, errors.New("this training is over")
	}
	asked, err := p.answer(record, label)
	if err != nil {
		return nil, err
	}
	return Randomise(p.plan, asked)
}

// Check says whether Randomise would take the record and the label.
func (p *Phase) Check(record Record, label any) error {
	_, err := p.answer(record, label)
	return err
}
