package lkeapi

import (
	"bytes"
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
	call := Call{Method: method, Route: route(path), Left: -1}
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
	err = c.send(ctx, bucket, &call, path, payload, out)
	call.Duration, call.Class = time.Since(sent), ClassOf(err)
	if c.observe != nil {
		c.observe(call)
	}
	return err
}

// send sends one request and notes in call what the answer says of itself.
func (c *Client) send(ctx context.Context, bucket bucket, call *Call, path, payload string, out any) error {
	req, err := c.request(ctx, call.Method, path, payload)
	if err != nil {
		return &notSentError{err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	c.note(call, resp)
	c.limiter.learn(bucket, resp.StatusCode, resp.Header)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode >= 300 {
		// Some gateways repeat the request in their error pages.
		return errorFrom(resp, bytes.ReplaceAll(raw, []byte(*c.token.value), []byte(redacted)))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", call.Method, call.Route, err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, method, path, payload string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/"+path, strings.NewReader(payload))
	if err != nil {
		return nil, err
	}
	// Without GetBody net/http cannot send the request a second time by itself
	// when a kept connection turns out to be closed.
	req.GetBody = nil
	req.Header.Set("Authorization", "Bearer "+*c.token.value)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "lkeplan")
	if payload != "" {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body = http.NoBody
	}
	return req, nil
}

// note reads what an answer says beside its body.
func (c *Client) note(call *Call, resp *http.Response) {
	call.Status = resp.StatusCode
	call.Limit, _ = number(resp.Header, "X-RateLimit-Limit")
	if left, ok := number(resp.Header, "X-RateLimit-Remaining"); ok {
		call.Left = left
	}
	if scopes := scopesOf(resp.Header.Get("X-OAuth-Scopes")); len(scopes) > 0 {
		c.scopes.Store(&scopes)
	}
}

// errorFrom reads an error answer. A body that is not the API's JSON, such as
// a gateway's HTML page, leaves the status to speak for itself.
func errorFrom(resp *http.Response, raw []byte) *Error {
	e := &Error{Status: resp.StatusCode}
	// A missing scope is answered with 401, as a wrong token is: the headers
	// tell one from the other.
	if granted := scopesOf(resp.Header.Get("X-OAuth-Scopes")); len(granted) > 0 && e.Status == http.StatusUnauthorized {
		for _, scope := range scopesOf(resp.Header.Get("X-Accepted-OAuth-Scopes")) {
			if !covers(granted, scope) {
				e.MissingScope, e.Scopes = scope, granted
			}
		}
	}
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
