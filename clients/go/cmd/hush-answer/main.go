// Command hush-answer answers a plan of a collector: it draws a private report from a record, keeps it in a ledger, and sends
// it until it is counted. Run again it sends the same report.
package main

import (
	"context"
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
		fmt.Fprintln(stderr, "Usage: hush-answer -collector URL -plan ID -ledger FILE [OPTIONS] RECORD.json  (- reads standard input)")
		flags.PrintDefaults()
	}
	address := flags.String("collector", "", "address of the collector")
	id := flags.String("plan", "", "id of the plan, 64 hexadecimal digits")
	path := flags.String("ledger", "", "file that keeps the reports of this person")
	most := flags.String("cap", "16", "the most epsilon that all plans of the ledger may cost together")
	secret := flags.String("token-file", "", "file with a token, if the collector wants one")
	patience := flags.Duration("timeout", 5*time.Minute, "how long to try")
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *address == "" || *id == "" || *path == "" || flags.NArg() != 1 {
		flags.Usage()
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), *patience)
	defer cancel()
	receipt, err := answer(ctx, *address, *secret, *path, *most, *id, flags.Arg(0), stdin)
	if err != nil {
		fmt.Fprintln(stderr, "hush-answer:", err)
		return 1
	}
	if receipt.New {
		fmt.Fprintf(stdout, "report %s: counted\n", receipt.ID)
	} else {
		fmt.Fprintf(stdout, "report %s: counted before\n", receipt.ID)
	}
	return 0
}

func answer(ctx context.Context, address, secret, path, most, id, name string, stdin io.Reader) (receipt collector.Receipt, err error) {
	token := ""
	if secret != "" {
		text, err := os.ReadFile(secret)
		if err != nil {
			return receipt, err
		}
		token = strings.TrimSpace(string(text))
	}
	server, err := collector.New(address, token)
	if err != nil {
		return receipt, err
	}
	ledger, err := collector.OpenLedger(path, most)
	if err != nil {
		return receipt, err
	}
	var text []byte
	if name == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return receipt, err
	}
	record, err := hush.ParseRecord(text)
	if err != nil {
		return receipt, err
	}
	return server.Answer(ctx, id, record, ledger)
}
