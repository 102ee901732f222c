package collector

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hush.example/client/hush"
)

// trainer serves a round, and counts what arrives.
type trainer struct {
	round  string
	check  string
	places []string
	bodies []string
	down   bool
}

func (s *trainer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/check") {
		io.WriteString(w, s.check)
		return
	}
	if r.Method == http.MethodGet {
		io.WriteString(w, s.round)
		return
	}
	s.places, s.bodies = append(s.places, r.URL.RequestURI()), append(s.bodies, hex.EncodeToString(body))
	if s.down {
		problem(w, 503, "busy", "")
		return
	}
	w.WriteHeader(202)
	json.NewEncoder(w).Encode(map[string]any{"id": hex.EncodeToString(body[9:25]), "new": true, "reports": 1})
}

// vector is a file of vectors about trainings.
type vector struct {
	Phase string
	Good  []struct{ Record, Label json.RawMessage }
}

func readVector(t *testing.T, name string) (file vector) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectors, name))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func trained(t *testing.T) (*trainer, *Client, hush.Record, any) {
	t.Helper()
	file := readVector(t, "training-logistic.json")
	record, err := hush.ParseRecord(file.Good[4].Record)
	if err != nil {
		t.Fatal(err)
	}
	var label any
	if err := json.Unmarshal(file.Good[4].Label, &label); err != nil {
		t.Fatal(err)
	}
	s := &trainer{round: file.Phase, check: readVector(t, "training-check-logistic.json").Phase}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	c.pause = func(ctx context.Context, wait time.Duration) error { return context.DeadlineExceeded }
	return s, c, record, label
}

func TestATrainingIsAnsweredOnce(t *testing.T) {
	s, c, record, label := trained(t)
	ledger := newLedger(t, "2")
	s.down = true
	if _, err := c.Train(context.Background(), hush.Named("who buys"), record, label, ledger); err == nil {
		t.Fatal("nobody was there")
	}
	s.down = false
	s.round = strings.NewReplacer(`"number":3`, `"number":4`, "]: round 3", "]: round 4").Replace(s.round)
	for i := 0; i < 2; i++ {
		if _, err := c.Train(context.Background(), hush.Named("who buys"), record, label, ledger); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.bodies) != 3 || s.bodies[1] != s.bodies[0] || s.bodies[2] != s.bodies[0] {
		t.Errorf("%d reports, not all the same", len(s.bodies))
	}
	for _, place := range s.places {
		if place != "/trainings/who%20buys/gradients?round=3" {
			t.Error(place)
		}
	}
}

func TestAHeldOutPersonReportsALossOnce(t *testing.T) {
	s, c, record, label := trained(t)
	for _, held := range []bool{true, false} { // whatever comes first stays
		s.places, s.bodies = nil, nil
		ledger := newLedger(t, "2")
		for i := 0; i < 3; i++ {
			take := c.Train
			if held == (i != 1) {
				take = c.HeldOut
			}
			if _, err := take(context.Background(), hush.Named("who buys"), record, label, ledger); err != nil {
				t.Fatal(err)
			}
		}
		wanted := map[bool]string{true: "/trainings/who%20buys/losses?round=3", false: "/trainings/who%20buys/gradients?round=3"}[held]
		for i, place := range s.places {
			if place != wanted || s.bodies[i] != s.bodies[0] {
				t.Errorf("%s, not %s, or another report", place, wanted)
			}
		}
	}
	s.places = nil
	s.round, s.check = s.check, s.round // nobody is held out unasked
	for _, take := range []func(context.Context, *hush.Expected, hush.Record, any, *Ledger) (Receipt, error){c.Train, c.HeldOut} {
		if _, err := take(context.Background(), hush.Named("who buys"), record, label, newLedger(t, "2")); err == nil {
			t.Error("a round for a check, or a check for a round")
		}
	}
	s.check = strings.NewReplacer(`"check":3`, `"check":21`, "]: loss 3", "]: loss 21").Replace(s.round)
	if _, err := c.HeldOut(context.Background(), hush.Named("who buys"), record, label, newLedger(t, "2")); err == nil {
		t.Error("a training that is over")
	}
	if len(s.places) != 0 {
		t.Error("something was sent")
	}
}

func TestAPlanThatWasAnsweredByOtherMeansIsNotDrawnAgain(t *testing.T) {
	s, c, record, label := trained(t)
	ledger := newLedger(t, "2")
	phase, err := hush.ParsePhase([]byte(s.round))
	if err != nil {
		t.Fatal(err)
	}
	draw := func() (*hush.Report, error) { return phase.Randomise(record, label) }
	report, err := ledger.Report(phase.Plan(), draw)
	if err != nil {
		t.Fatal(err)
	}
	right := s.round
	for _, number := range []string{"3", "4"} { // the same round, and another
		s.round = strings.NewReplacer(`"number":3`, `"number":`+number, "]: round 3", "]: round "+number).Replace(right)
		if _, err := c.Train(context.Background(), hush.Named("who buys"), record, label, ledger); err == nil {
			t.Errorf("round %s: a second report", number)
		}
	}
	again, err := ledger.Report(phase.Plan(), draw)
	if err != nil || hex.EncodeToString(again.Binary()) != hex.EncodeToString(report.Binary()) {
		t.Errorf("the ledger has another report: %v", err)
	}
	if len(s.bodies) != 0 {
		t.Error("something was sent")
	}
}

func TestTrainingsThatAreRefused(t *testing.T) {
	s, c, record, label := trained(t)
	ledger := newLedger(t, "2")
	train := func(name string, record hush.Record, label any, ledger *Ledger) error {
		_, err := c.Train(context.Background(), hush.Named(name), record, label, ledger)
		return err
	}
	if err := train("who sells", record, label, ledger); err == nil {
		t.Error("another training")
	}
	if err := train("who buys", hush.Record{}, label, ledger); err == nil {
		t.Error("an empty record")
	}
	if err := train("who buys", record, "perhaps", ledger); err == nil || strings.Contains(err.Error(), "perhaps") {
		t.Errorf("another label: %v", err)
	}
	if err := train("who buys", record, label, newLedger(t, "0.5")); err == nil {
		t.Error("above the cap")
	}
	right := s.round
	s.round = strings.Replace(right, `"high":90.0`, `"high":91.0`, 1)
	if err := train("who buys", record, label, ledger); err == nil || s.round == right {
		t.Error("another schema under the same title")
	}
	s.round = strings.NewReplacer(`"number":3`, `"number":21`, "]: round 3", "]: round 21").Replace(right)
	if err := train("who buys", record, label, ledger); err == nil {
		t.Error("a training that is over")
	}
	if len(s.bodies) != 0 {
		t.Error("something was sent")
	}
	s.round = right
	if err := train("who buys", record, label, ledger); err != nil {
		t.Error(err)
	}
}

// classes serves the rounds of a training with three classes.
type classes struct {
	trainer
	change func(class string) *strings.Replacer
}

func (s *classes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for i, class := range []string{"1", "2", "3"} {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, " (class "+class+")/round") {
			right := strings.NewReplacer(`"against":1`, fmt.Sprintf(`"against":%d`, i), "]: class 2, ", "]: class "+class+", ").Replace(s.round)
			io.WriteString(w, s.change(class).Replace(right))
			return
		}
	}
	if r.Method == http.MethodGet {
		problem(w, 404, "not-found", "")
		return
	}
	s.trainer.ServeHTTP(w, r)
}

func TestOneOfSeveralClassesIsDrawn(t *testing.T) {
	file := readVector(t, "training-classes.json")
	record, err := hush.ParseRecord(file.Good[0].Record)
	if err != nil {
		t.Fatal(err)
	}
	same := func(string) *strings.Replacer { return strings.NewReplacer() }
	s := &classes{trainer{round: file.Phase}, same}
	server := httptest.NewServer(s)
	defer server.Close()
	c, err := New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	c.pause = func(ctx context.Context, wait time.Duration) error { return context.DeadlineExceeded }
	expected, err := hush.ParseExpected([]byte(file.Phase))
	if err != nil {
		t.Fatal(err)
	}
	drawn := func(people int) map[string]int {
		s.places = nil
		found := map[string]int{}
		for i := 0; i < people; i++ {
			if _, err := c.Train(context.Background(), expected, record, "foot", newLedger(t, "20")); err != nil {
				t.Fatal(err)
			}
		}
		for _, place := range s.places {
			found[place]++
		}
		return found
	}
	// Of 90 people no class is drawn by fewer than 8, but with a probability below 1e-7.
	found := drawn(90)
	for _, class := range []string{"1", "2", "3"} {
		if found["/trainings/Wege%20%E2%98%82%20%28class%20"+class+"%29/gradients?round=12"] < 8 {
			t.Errorf("class %s: %v", class, found)
		}
	}
	s.change = func(class string) *strings.Replacer {
		if class != "3" {
			return strings.NewReplacer()
		}
		return strings.NewReplacer(`"number":12`, `"number":21`, ", round 12", ", round 21")
	}
	if found := drawn(60); len(found) != 2 {
		t.Errorf("a class that is over: %v", found)
	}
	s.change = same
	ledger := newLedger(t, "20")
	s.places, s.bodies = nil, nil
	for i := 0; i < 6; i++ { // whatever is drawn for the first time stays
		if _, err := c.Train(context.Background(), expected, record, "foot", ledger); err != nil || s.bodies[i] != s.bodies[0] || s.places[i] != s.places[0] {
			t.Errorf("another report: %v", err)
		}
	}
	s.places = nil
	for name, change := range map[string]*strings.Replacer{
		"another loss":    strings.NewReplacer(`"loss":"logistic"`, `"loss":"hinge"`, `"loss":"hinge"`, `"loss":"logistic"`),
		"another class":   strings.NewReplacer(`"against":1`, `"against":0`, "]: class 2, ", "]: class 1, "),
		"another penalty": strings.NewReplacer(`"penalty":`, `"penalty":1`),
	} {
		s.change = func(class string) *strings.Replacer {
			if class == "2" {
				return change
			}
			return strings.NewReplacer()
		}
		for i := 0; i < 3; i++ { // also if another class would be drawn
			if _, err := c.Train(context.Background(), expected, record, "foot", newLedger(t, "20")); err == nil {
				t.Errorf("%s was taken", name)
			}
		}
	}
	s.change = func(string) *strings.Replacer { return strings.NewReplacer(`"step":`, `"step":1`) } // which a pilot decides
	if _, err := c.Train(context.Background(), expected, record, "foot", newLedger(t, "20")); err != nil {
		t.Error(err)
	}
	if len(s.places) != 1 {
		t.Errorf("%d reports were sent", len(s.places))
	}
	for _, text := range []string{"", "{}", `{"training":{}}`, "[]"} {
		if _, err := hush.ParseExpected([]byte(text)); err == nil {
			t.Errorf("%q is no course", text)
		}
	}
}

func TestAnotherSeedGetsTheSameReport(t *testing.T) {
	right := readVector(t, "training-logistic.json").Phase
	seed := `"seed":"`
	start := strings.Index(right, seed) + len(seed)
	own := right[start : start+strings.Index(right[start:], `"`)]
	for _, held := range []bool{false, true} { // whatever comes first stays
		s, c, record, label := trained(t)
		ledger := newLedger(t, "9")
		take := c.Train
		if held {
			take = c.HeldOut
		}
		s.down = true
		round, check := s.round, s.check
		for _, seed := range []string{own, "b", own + "]: ", "x] [" + own} {
			change := strings.NewReplacer(`"seed":"`+own+`"`, `"seed":"`+seed+`"`, "who buys ["+own+"]: ", "who buys ["+seed+"]: ")
			s.round, s.check = change.Replace(round), change.Replace(check)
			if seed != own && (s.round == round || s.check == check) {
				t.Fatal("the seed is the same")
			}
			for _, again := range []func(context.Context, *hush.Expected, hush.Record, any, *Ledger) (Receipt, error){take, c.Train, c.HeldOut} {
				if _, err := again(context.Background(), hush.Named("who buys"), record, label, ledger); err == nil {
					t.Error("nobody was there")
				}
			}
		}
		if len(s.bodies) != 12 {
			t.Errorf("%d reports were sent", len(s.bodies))
		}
		for i, body := range s.bodies {
			if body != s.bodies[0] || s.places[i] != s.places[0] {
				t.Errorf("a second report, to %s", s.places[i])
			}
		}
	}
}

func TestOfATrainingWhoseNameLooksLikeASeedNothingIsSent(t *testing.T) {
	s, c, record, label := trained(t)
	ledger := newLedger(t, "9")
	right := s.round
	s.round = strings.NewReplacer(`"title":"who buys"`, `"title":"who buys [x]"`, "who buys [", "who buys [x] [").Replace(right)
	if _, err := c.Train(context.Background(), hush.Named("who buys [x]"), record, label, ledger); err != nil {
		t.Fatal(err)
	}
	s.round = right
	if _, err := c.Train(context.Background(), hush.Named("who buys"), record, label, ledger); err == nil || len(s.bodies) != 1 {
		t.Errorf("%d reports: %v", len(s.bodies), err)
	}
}

func TestANameThatFitsTwoTitlesHasOneDescription(t *testing.T) {
	s, c, record, label := trained(t)
	ledger := newLedger(t, "9")
	name := "Wege \u2602 (class 2)" // class 2 of its title, or a title of its own: the server chooses
	own := strings.NewReplacer(`"title":"who buys"`, `"title":"`+name+`"`, "who buys [", name+" [").Replace(s.round)
	s.round = readVector(t, "training-classes.json").Phase
	train := func() error {
		_, err := c.Train(context.Background(), hush.Named(name), record, label, ledger)
		return err
	}
	if err := train(); err == nil || strings.Contains(err.Error(), "ledger") { // the record does not fit
		t.Fatal(err)
	}
	s.round = own
	if err := train(); err == nil || !strings.Contains(err.Error(), "other features or another label") {
		t.Error(err)
	}
	ledger = newLedger(t, "9")
	if err := train(); err != nil {
		t.Error(err)
	}
	if len(s.bodies) != 1 {
		t.Errorf("%d reports were sent", len(s.bodies))
	}
}
