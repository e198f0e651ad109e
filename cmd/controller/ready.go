package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
)

// newCheckReady returns the command of the Helm test: the image has no other program that can send a request.
func newCheckReady() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check-ready URL...",
		Short: "Check that controllers are ready",
		Long:  "Requests each URL, such as http://lkeplan-controller:8081/readyz, until it answers 200.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, urls []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			for _, url := range urls {
				var last error
				err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
					err := checkReady(ctx, url)
					if err == nil {
						return true, nil
					}
					if last == nil || ctx.Err() == nil { // what ended the last request says less than the answer before it
						last = err
					}
					return false, nil
				})
				if err != nil {
					return fmt.Errorf("not ready within %s: %w; see the log of the controller", timeout, last)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: ready\n", url)
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for all URLs")
	return cmd
}

// checkReady returns an error with the answer if a readiness check does not answer 200.
func checkReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("%s: %s: read the answer: %w", url, resp.Status, err)
	}
	return fmt.Errorf("%s: %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
}
