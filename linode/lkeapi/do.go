package lkeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// maxBody bounds an answer: 500 pools of 100 slots are under 6 MiB.
const maxBody = 16 << 20

// do sends one request, once, and decodes the answer into out. An answer that
// is not 2xx becomes an *Error.
func (c *Client) do(ctx context.Context, method, path string, body, out any) error {
	call := Call{Method: method, Route: route(path)}
	payload, err := marshal(body)
	if err != nil {
		return &notSentError{fmt.Errorf("encode the request: %w", err)}
	}
	bucket := bucketFor(method, path)
	asked := time.Now()
	if err := c.limiter.wait(ctx, bucket); err != nil {
		return &notSentError{err}
	}
	sent := time.Now()
	call.Waited = sent.Sub(asked)
	call.Status, err = c.send(ctx, bucket, method, path, payload, out)
	call.Duration, call.Class = time.Since(sent), ClassOf(err)
	if c.observe != nil {
		c.observe(call)
	}
	return err
}

func (c *Client) send(ctx context.Context, bucket bucket, method, path, payload string, out any) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/"+path, strings.NewReader(payload))
	if err != nil {
		return 0, &notSentError{err}
	}
	// Without GetBody net/http cannot send the request a second time by itself
	// when a kept connection turns out to be closed.
	req.GetBody = nil
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "lkeplan")
	if payload != "" {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body = http.NoBody
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	c.limiter.learn(bucket, resp.StatusCode, resp.Header)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return resp.StatusCode, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, errorFrom(resp, raw)
	}
	if out == nil {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return resp.StatusCode, fmt.Errorf("read the answer of %s %s: %w", method, route(path), err)
	}
	return resp.StatusCode, nil
}

// errorFrom reads an error answer. A body that is not the API's JSON, such as
// a gateway's HTML page, leaves the status to speak for itself.
func errorFrom(resp *http.Response, raw []byte) *Error {
	e := &Error{Status: resp.StatusCode}
	var body struct {
		Errors []Reason `json:"errors"`
	}
	if json.Unmarshal(raw, &body) == nil {
		e.Reasons = body.Errors
	}
	return e
}

var numbers = regexp.MustCompile(`/[0-9][0-9a-f-]*`)

// route is a path without what makes it endless: numbers, slot ids, queries.
func route(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return numbers.ReplaceAllString(path, "/{}")
}
