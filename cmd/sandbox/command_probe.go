package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/probe"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// probe returns the command that compares assumptions with a Linode account.
func (a *app) probe() *cobra.Command {
	var o probe.Options
	var yes bool
	var tier, budget, record string
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Check assumptions about LKE on a Linode account",
		Long: `Make a small LKE cluster, check the assumptions of linode/unverified.md by
experiments, delete all that was made, and print what holds. The token is read
from LINODE_TOKEN; it needs the scopes lke:read_write, linodes:read_write,
account:read_only, events:read_only and firewall:read_only.

The command first prints what it will make and what it costs at most, and asks.
All that it makes has the tag lkeplan-probe, and a run first deletes what an
earlier run left. Run one at a time in an account. If you interrupt the command,
it deletes what it made; if you interrupt it again, the next run does.

All calls and answers are recorded without the token, addresses and names. To
contribute them, copy the file to cmd/sandbox/probe/testdata.

    LINODE_TOKEN=... sandbox probe --region us-mia
    LINODE_TOKEN=... sandbox probe --tier enterprise --only memory-enterprise`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o.Tier = catalog.Tier(tier)
			if o.Tier != catalog.Standard && o.Tier != catalog.Enterprise {
				return fmt.Errorf("--tier %q: want standard or enterprise", tier)
			}
			if o.Budget, err = catalog.ParseMoney(budget); err != nil {
				return fmt.Errorf("--budget: %w", err)
			}
			if o.Budget <= 0 {
				return fmt.Errorf("--budget %s: want more than 0", budget)
			}
			o.URL, o.Token, o.Out = a.getenv("LINODE_URL"), a.getenv("LINODE_TOKEN"), a.stdout
			if o.Token == "" {
				return errors.New("LINODE_TOKEN is empty: set it to a token of the account")
			}
			if !yes {
				o.Ask = func() bool { return a.confirm(cmd.Context(), "Start?") }
			}
			if !o.DryRun {
				if record == "" {
					record = fmt.Sprintf("probe-%s-%s.jsonl", tier, time.Now().UTC().Format("20060102-150405"))
				}
				file, err := os.OpenFile(record, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				defer func() {
					if info, failed := file.Stat(); failed == nil && info.Size() == 0 {
						err = errors.Join(err, os.Remove(record))
					} else {
						a.log.Printf("calls and answers are recorded in %s", record)
					}
					err = errors.Join(err, file.Close())
				}()
				o.Record = file
			}
			// After the first Ctrl-C the run deletes what it made; the second ends the process.
			defer context.AfterFunc(cmd.Context(), func() { signal.Reset(os.Interrupt) })()
			results, err := probe.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			for _, result := range results {
				if result.Verdict == probe.Fails {
					return exitStatus(2)
				}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&tier, "tier", "standard", "tier of the LKE cluster: standard or enterprise")
	flags.StringVar(&o.Region, "region", "us-mia", "region of the cluster")
	flags.IntVar(&o.Cluster, "cluster", 0, "use this LKE cluster, and change only what the probe makes in it")
	flags.StringSliceVar(&o.Only, "only", nil, "run only these experiments")
	flags.StringVar(&budget, "budget", "3", "do not start if the run can cost more dollars")
	flags.StringVar(&o.SoldOut, "sold-out", "", "a plan that is out of stock (default: one of Linode's list)")
	flags.StringVar(&record, "record", "", "file for calls and answers (default: probe-TIER-TIME.jsonl)")
	flags.BoolVar(&yes, "yes", false, "start without a question")
	flags.BoolVar(&o.Keep, "keep", false, "delete nothing afterwards; the next run does")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only print what a run would make and cost")
	return cmd
}

// confirm asks a question. If the context ends, the answer is no.
func (a *app) confirm(ctx context.Context, question string) bool {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case <-ctx.Done():
		return false
	case answer := <-answers:
		return answer == "y" || answer == "yes"
	}
}
