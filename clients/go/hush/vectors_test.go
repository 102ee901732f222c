package hush

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

const vectors = "../../../spec/vectors"

type channelFile struct {
	About      string
	Plan       string
	ID         string
	Good       []good
	Tally      struct{ JSON, Binary string }
	BadRecords []struct {
		Why    string
		Record json.RawMessage
	} `json:"bad_records"`
	BadReports []struct{ Why, Report string } `json:"bad_reports"`
	BadJSON    []struct{ Why, Text string }   `json:"bad_json"`
}

type good struct {
	Record json.RawMessage
	Words  []string
	Report string
	JSON   string
}

// load reads a file of vectors. Fields that no test knows are refused: a test would have to cover them.
func load(t *testing.T, name string, into any) {
	t.Helper()
	file, err := os.Open(filepath.Join(vectors, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// channelFiles reads all files of channels, and the lists that their plans name.
func channelFiles(t *testing.T) map[string]*channelFile {
	t.Helper()
	addLists(t)
	names, err := filepath.Glob(filepath.Join(vectors, "channel-*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no vectors in %s", vectors)
	}
	files := map[string]*channelFile{}
	for _, name := range names {
		files[filepath.Base(name)] = &channelFile{}
		load(t, filepath.Base(name), files[filepath.Base(name)])
	}
	return files
}

type listFile struct {
	About string
	Good  []listCase
	Bad   []listCase
}

type listCase struct {
	Why  string
	List struct {
		Count  int
		Name   string
		Sha256 string
	}
	Text string
}

// addLists adds the good lists, and sees that the bad ones are refused.
func addLists(t *testing.T) {
	t.Helper()
	var file listFile
	load(t, "lists.json", &file)
	for _, one := range file.Good {
		text, _ := hex.DecodeString(one.Text)
		hash, err := AddList(text)
		if err != nil || hash != one.List.Sha256 {
			t.Fatalf("%s: %v", one.List.Name, err)
		}
	}
	for _, one := range file.Bad {
		text, _ := hex.DecodeString(one.Text)
		hash, err := AddList(text)
		named := object{"count": json.Number(strconv.Itoa(one.List.Count)), "name": one.List.Name, "sha256": one.List.Sha256}
		if _, missing := readList(named); err == nil && hash == one.List.Sha256 && missing == nil {
			t.Errorf("%s: it is taken", one.Why)
		}
	}
}

func mustParse(t *testing.T, text string) *Plan {
	t.Helper()
	plan, err := ParsePlan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func mustRecord(t *testing.T, text json.RawMessage) Record {
	t.Helper()
	record, err := ParseRecord(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range record {
		if stands, ok := value.(map[string]any); ok {
			number, err := strconv.ParseFloat(stands["number"].(string), 64)
			if err != nil || len(stands) != 1 {
				t.Fatalf("%s stands for nothing", name)
			}
			record[name] = number
		}
	}
	return record
}

// given deals these words, and counts those that are left.
func given(t *testing.T, words []string) (*coins, func() int) {
	t.Helper()
	left := words
	word := func() uint64 {
		if len(left) == 0 {
			panic(failure{errors.New("there are no more words")})
		}
		x, err := strconv.ParseUint(left[0], 16, 64)
		if err != nil || len(left[0]) != 16 {
			t.Fatalf("%q is no word", left[0])
		}
		left = left[1:]
		return x
	}
	return &coins{word: word, split: split}, func() int { return len(left) }
}

func TestEveryFileIsCovered(t *testing.T) {
	entries, err := os.ReadDir(vectors)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"bad-plans.json": true, "bad-channels.json": true, "bad-views.json": true, "printable.json": true, "coins.json": true, "lists.json": true, "texts.json": true, "exp.json": true, "sealed.json": true, "sealed-batches.json": true, "bad-phases.json": true, "rotations.json": true, "maps.json": true, "names.json": true, "tallies.json": true}
	for _, entry := range entries {
		name := entry.Name()
		if !known[name] && !strings.HasPrefix(name, "channel-") && !strings.HasPrefix(name, "training-") {
			t.Errorf("no test replays %s", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("%s is not there", name)
	}
	seen := map[string]bool{}
	for _, file := range channelFiles(t) {
		var plan struct {
			Questions []struct{ Channel struct{ Kind string } }
		}
		if err := json.Unmarshal([]byte(file.Plan), &plan); err != nil {
			t.Fatal(err)
		}
		for _, q := range plan.Questions {
			seen[q.Channel.Kind] = true
		}
	}
	for kind := range kinds {
		if !seen[kind] {
			t.Errorf("no vector has a channel of the kind %s", kind)
		}
	}
}

func TestGoodReports(t *testing.T) {
	for name, file := range channelFiles(t) {
		t.Run(name, func(t *testing.T) {
			plan := mustParse(t, file.Plan)
			if plan.ID() != file.ID {
				t.Fatalf("id %s", plan.ID())
			}
			if len(file.Good) == 0 {
				t.Fatal("no good reports")
			}
			tally := NewTally(plan)
			for i, case_ := range file.Good {
				coins, left := given(t, case_.Words)
				report, err := randomise(plan, mustRecord(t, case_.Record), coins)
				if err != nil {
					t.Fatalf("%d: %v", i, err)
				}
				if left() != 0 {
					t.Errorf("%d: %d words are left", i, left())
				}
				if got := hex.EncodeToString(report.Binary()); got != case_.Report {
					t.Errorf("%d: %s, not %s", i, got, case_.Report)
				}
				if got := string(report.JSON()); got != case_.JSON {
					t.Errorf("%d: %s, not %s", i, got, case_.JSON)
				}
				roundTrip(t, plan, report)
				if err := tally.Add(report); err != nil {
					t.Fatal(err)
				}
			}
			if got := string(tally.JSON()); got != file.Tally.JSON {
				t.Errorf("tally %s, not %s", got, file.Tally.JSON)
			}
			if got := hex.EncodeToString(tally.Binary()); got != file.Tally.Binary {
				t.Errorf("tally %s, not %s", got, file.Tally.Binary)
			}
			tallyRoundTrip(t, plan, tally)
		})
	}
}

func roundTrip(t *testing.T, plan *Plan, report *Report) {
	t.Helper()
	fromBinary, err := plan.DecodeReport(report.Binary())
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := plan.DecodeReportJSON(report.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if string(fromBinary.JSON()) != string(report.JSON()) || string(fromJSON.Binary()) != string(report.Binary()) {
		t.Error("what was read is not what was written")
	}
}

func tallyRoundTrip(t *testing.T, plan *Plan, tally *Tally) {
	t.Helper()
	fromBinary, err := plan.DecodeTally(tally.Binary())
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := plan.DecodeTallyJSON(tally.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if string(fromBinary.JSON()) != string(tally.JSON()) || string(fromJSON.Binary()) != string(tally.Binary()) {
		t.Error("what was read is not what was written")
	}
}

func TestTalliesOfStores(t *testing.T) {
	var file struct {
		About, Plan string
		Good        []struct {
			Own    uint64
			Stores [][]string
			JSON   string
			Binary string
		}
		Bad     []struct{ Binary, Why string }
		BadJSON []struct{ Text, Why string } `json:"bad_json"`
	}
	load(t, "tallies.json", &file)
	plan := mustParse(t, file.Plan)
	for _, case_ := range file.Good {
		data, err := hex.DecodeString(case_.Binary)
		if err != nil {
			t.Fatal(err)
		}
		tally, err := plan.DecodeTally(data)
		if err != nil {
			t.Fatalf("%v: %v", case_.Stores, err)
		}
		stores := [][]string{}
		for _, names := range tally.stores {
			written := []string{}
			for _, name := range names {
				written = append(written, hex.EncodeToString(name[:]))
			}
			stores = append(stores, written)
		}
		if tally.own != case_.Own || !reflect.DeepEqual(stores, case_.Stores) {
			t.Errorf("%d %v, not %d %v", tally.own, stores, case_.Own, case_.Stores)
		}
		if got := hex.EncodeToString(tally.Binary()); got != case_.Binary {
			t.Errorf("%s, not %s", got, case_.Binary)
		}
	}
	for _, bad := range file.Bad {
		data, err := hex.DecodeString(bad.Binary)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.DecodeTally(data); err == nil {
			t.Errorf("%s: it was taken", bad.Why)
		}
	}
	if len(file.Good) == 0 || len(file.Bad) == 0 || len(file.BadJSON) == 0 { // the text with its plan is for servers
		t.Error("there are none")
	}
}

func TestBadRecords(t *testing.T) {
	for name, file := range channelFiles(t) {
		plan := mustParse(t, file.Plan)
		for i, bad := range file.BadRecords {
			coins, _ := given(t, nil)
			coins.word = func() uint64 {
				t.Fatalf("%s: bad record %d (%s): a word was drawn", name, i, bad.Why)
				return 0
			}
			if _, err := randomise(plan, mustRecord(t, bad.Record), coins); err == nil {
				t.Errorf("%s: bad record %d (%s) was taken", name, i, bad.Why)
			}
		}
	}
}

func TestBadReports(t *testing.T) {
	for name, file := range channelFiles(t) {
		plan := mustParse(t, file.Plan)
		for i, bad := range file.BadReports {
			data, err := hex.DecodeString(bad.Report)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := plan.DecodeReport(data); err == nil {
				t.Errorf("%s: bad report %d (%s) was taken", name, i, bad.Why)
			}
		}
		for i, bad := range file.BadJSON {
			if _, err := plan.DecodeReportJSON([]byte(bad.Text)); err == nil {
				t.Errorf("%s: bad JSON %d (%s) was taken", name, i, bad.Why)
			}
		}
		if len(file.BadReports) == 0 || len(file.BadJSON) == 0 || len(file.BadRecords) == 0 {
			t.Errorf("%s has no bad ones", name)
		}
	}
}

// texts is the text of a plan, or a list of them.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func TestBadPlans(t *testing.T) {
	for _, name := range []string{"bad-plans.json", "bad-channels.json", "bad-views.json", "printable.json"} {
		var file struct {
			About string
			Good  texts
			Bad   []struct{ Why, Text string }
		}
		load(t, name, &file)
		for i, text := range file.Good {
			if _, err := ParsePlan([]byte(text)); err != nil {
				t.Errorf("%s: good plan %d: %v", name, i, err)
			}
		}
		for i, bad := range file.Bad {
			_, err := ParsePlan([]byte(bad.Text))
			if err == nil {
				t.Errorf("%s: bad plan %d (%s) was taken", name, i, bad.Why)
			} else if errors.Is(err, errCanonical) {
				t.Errorf("%s: bad plan %d (%s) was refused for its form alone", name, i, bad.Why)
			} else {
				t.Logf("%s: %s: %v", name, bad.Why, err)
			}
		}
		if len(file.Good) == 0 || len(file.Bad) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

func TestCoins(t *testing.T) {
	var file struct {
		About string
		Cases []struct {
			N     string
			Words []string
			Below string
		}
		Several []struct {
			Sizes    []uint64
			Words    []string
			Integers []int
		}
	}
	load(t, "coins.json", &file)
	for i, case_ := range file.Several {
		coins, left := given(t, case_.Words)
		if got := coins.several(case_.Sizes); !reflect.DeepEqual(got, case_.Integers) || left() != 0 {
			t.Errorf("%d: several(%v) is %v, with %d words left", i, case_.Sizes, got, left())
		}
	}
	for i, case_ := range file.Cases {
		n, ok := new(big.Int).SetString(case_.N, 10)
		if !ok || n.Cmp(words) > 0 {
			t.Fatal(case_.N)
		}
		coins, left := given(t, case_.Words)
		got := coins.below(n.Uint64()) // 0 for 2^64
		if strconv.FormatUint(got, 10) != case_.Below || left() != 0 {
			t.Errorf("%d: below(%s) is %d, with %d words left", i, case_.N, got, left())
		}
	}
	if len(file.Cases) == 0 || len(file.Several) == 0 {
		t.Error("no cases")
	}
}

func TestLower(t *testing.T) {
	var file struct {
		About string
		Cases []struct{ X, Lower string }
	}
	load(t, "exp.json", &file)
	for _, case_ := range file.Cases {
		x, err := ParseEpsilon(case_.X)
		if err != nil {
			t.Fatal(err)
		}
		got := lower(x)
		if got.top.String() != case_.Lower || got.bottom.Cmp(new(big.Int).Lsh(big.NewInt(1), 192)) != 0 {
			t.Errorf("lower(%s) is %s", case_.X, got.top)
		}
		value, _ := x.Float64()
		bound, _ := new(big.Rat).SetFrac(got.top, got.bottom).Float64()
		if math.Abs(bound/math.Exp(value)-1) > 1e-14 {
			t.Errorf("lower(%s) is not near e^x", case_.X)
		}
	}
	if len(file.Cases) == 0 {
		t.Error("no cases")
	}
}
