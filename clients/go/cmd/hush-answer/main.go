// Command hush-answer answers a plan of a collector: it draws a private report from a record, keeps it in a ledger, and sends
// it until it is counted. Run again it sends the same report.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hush.example/client/collector"
	"hush.example/client/hush"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(arguments []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("hush-answer", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Usage: hush-answer -collector URL -plan ID|FILE -ledger FILE [OPTIONS] RECORD.json  (- reads standard input)")
		flags.PrintDefaults()
	}
	address := flags.String("collector", "", "address of the collector")
	relay := flags.String("relay", "", "address of a relay, in place of a collector's")
	key := flags.String("key", "", "with -relay: the public key of the collector, 64 hexadecimal digits")
	id := flags.String("plan", "", "id of the plan, 64 hexadecimal digits; or a file with the plan: then the answer is kept without a network")
	path := flags.String("ledger", "", "file that keeps the reports of this person")
	var lists []string
	flags.Func("list", "a file with a long list that the plan names (repeatable); of a collector's plan they are fetched", func(name string) error {
		lists = append(lists, name)
		return nil
	})
	most := flags.String("cap", "16", "the most epsilon that all plans of the ledger may cost together")
	secret := flags.String("token-file", "", "file with a token, if the collector wants one")
	patience := flags.Duration("timeout", 5*time.Minute, "how long to try")
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if (*address == "") == (*relay == "") || (*relay == "") != (*key == "") || *relay != "" && *secret != "" || *id == "" || *path == "" || flags.NArg() != 1 {
		flags.Usage()
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), *patience)
	defer cancel()
	receipt, err := answer(ctx, &options{*address, *relay, *key, *secret, *path, *most, *id, flags.Arg(0), lists}, stdin)
	if err != nil {
		fmt.Fprintln(stderr, "hush-answer:", err)
		return 1
	}
	words := map[bool]string{true: "counted", false: "held by the relay"}[*relay == ""]
	if !receipt.New {
		words += " before"
	}
	fmt.Fprintf(stdout, "report %s: %s\n", receipt.ID, words)
	return 0
}

type options struct {
	address, relay, key, secret, path, most, plan, record string
	lists                                                 []string
}

// A way is how a report leaves: to a collector, or through a relay.
type way interface {
	Answer(ctx context.Context, id string, record hush.Record, ledger *collector.Ledger) (collector.Receipt, error)
	AnswerPlan(ctx context.Context, plan *hush.Plan, record hush.Record, ledger *collector.Ledger) (collector.Receipt, error)
}

func open(given *options) (way, error) {
	if given.relay != "" {
		return collector.NewRelay(given.relay, given.key)
	}
	token := ""
	if given.secret != "" {
		text, err := os.ReadFile(given.secret)
		if err != nil {
			return nil, err
		}
		token = strings.TrimSpace(string(text))
	}
	return collector.New(given.address, token)
}

func answer(ctx context.Context, given *options, stdin io.Reader) (receipt collector.Receipt, err error) {
	server, err := open(given)
	if err != nil {
		return receipt, err
	}
	for _, name := range given.lists {
		list, err := os.ReadFile(name)
		if err != nil {
			return receipt, err
		}
		if _, err := hush.AddList(list); err != nil {
			return receipt, fmt.Errorf("%s: %w", name, err)
		}
	}
	ledger, err := collector.OpenLedger(given.path, given.most)
	if err != nil {
		return receipt, err
	}
	var text []byte
	if given.record == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(given.record)
	}
	if err != nil {
		return receipt, err
	}
	record, err := hush.ParseRecord(text)
	if err != nil {
		return receipt, err
	}
	if isID(given.plan) {
		return server.Answer(ctx, given.plan, record, ledger)
	}
	if text, err = os.ReadFile(given.plan); err != nil {
		return receipt, err
	}
	plan, err := hush.ParsePlan(bytes.TrimSpace(text))
	if err != nil {
		return receipt, err
	}
	return server.AnswerPlan(ctx, plan, record, ledger)
}

func isID(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 64
}
