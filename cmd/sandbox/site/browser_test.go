//go:build browser

package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write a picture of some pages into this `directory`")

// screens are the screens on which the pages are checked.
var screens = []struct {
	name, scheme  string
	width, height int64
}{
	{"light", "light", 1280, 900},
	{"dark", "dark", 1280, 900},
	{"phone", "light", 390, 844},
	{"phone-dark", "dark", 390, 844},
}

// TestPagesOpenInABrowser: each page of the site, from its file, without a word in the
// console, and nothing sticks out at its side. It takes Chromium.
func TestPagesOpenInABrowser(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if err := build("../../..", dir); err != nil {
		t.Fatal(err)
	}
	pages := pagesOf(t, dir)
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			tab := open(t)
			feature := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: screen.scheme}
			tab.do(chromedp.EmulateViewport(screen.width, screen.height),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{feature}))
			for _, page := range pages {
				var out []string
				tab.do(chromedp.Navigate("file://"+filepath.Join(dir, page)), chromedp.Evaluate(sticksOut, &out))
				if len(out) > 0 {
					t.Errorf("%s is wider than the screen: %s", page, strings.Join(out, ", "))
				}
				for _, said := range tab.said() {
					t.Errorf("%s: the console says: %s", page, said)
				}
				if *pictures != "" && pictured[page] {
					tab.picture(screen.name + "-" + strings.ReplaceAll(page, "/", "_"))
				}
			}
		})
	}
}

// sticksOut names the elements that make a page scroll sideways.
const sticksOut = `document.documentElement.scrollWidth <= innerWidth ? [] :
	[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
		.slice(0, 3).map((e) => e.tagName + " " + e.textContent.slice(0, 40))`

// pictured are the pages that picture writes.
var pictured = map[string]bool{
	"index.html": true, "schemas/reference.html": true, "examples/quickstart/index.html": true,
	"rules/bad-schedule.html": true, "kube/chart/index.html": true, "kube/observability/metrics.html": true,
}

// TestTheSiteIsUsedInABrowser: a search finds a page, which opens, and on a phone the menu
// shows where else to go.
func TestTheSiteIsUsedInABrowser(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if err := build("../../..", dir); err != nil {
		t.Fatal(err)
	}
	tab := open(t)
	var first, heading string
	var hidden, shown bool
	tab.do(
		chromedp.EmulateViewport(390, 844),
		chromedp.Navigate("file://"+filepath.Join(dir, "index.html")),
		chromedp.Evaluate(`getComputedStyle(nav).display === "none"`, &hidden),
		chromedp.Click("#menu"),
		chromedp.Evaluate(`getComputedStyle(nav).display === "block"`, &shown),
		chromedp.SendKeys("#search", "bad-schedule"),
		chromedp.Text("#results li:first-child a", &first),
		chromedp.Click("#results li:first-child a"),
		chromedp.WaitVisible("main h1"),
	)
	tab.picture("search")
	tab.do(chromedp.Text("main h1", &heading))
	if !hidden || !shown {
		t.Errorf("the menu is hidden at first: %v, and shown then: %v", hidden, shown)
	}
	if !strings.Contains(heading, "bad-schedule") {
		t.Errorf("the search finds %q first, and the page is %q", first, heading)
	}
}

// TestTheSearchInABrowserFindsTheRightPage: terms of other tools show first the page that answers them.
func TestTheSearchInABrowserFindsTheRightPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if err := build("../../..", dir); err != nil {
		t.Fatal(err)
	}
	tab := open(t)
	for query, page := range map[string]string{
		"autoscaler":         "examples/moving-in/index.html",
		"bad-schedule":       "rules/bad-schedule.html",
		"Business Days":      "examples/office-hours/index.html",
		"business hours":     "examples/office-hours/index.html",
		"cluster autoscaler": "examples/moving-in/index.html",
		"commands":           "cmd/lkeplan/index.html",
		"cost":               "examples/cost-caps/index.html",
		"exit code":          "cmd/lkeplan/index.html",
		"flags":              "cmd/lkeplan/index.html",
		"maintenance window": "examples/office-hours/index.html",
		"migrate":            "examples/moving-in/index.html",
		"prevent_destroy":    "examples/critical/index.html",
		"rollback":           "examples/operations/index.html",
		"spot":               "examples/batch/index.html",
		"uninstall":          "examples/operations/index.html",
		"upgrade kubernetes": "examples/upgrade-kubernetes/index.html",
	} {
		var first string
		tab.do(
			chromedp.Navigate("file://"+filepath.Join(dir, "index.html")+"?q="+url.QueryEscape(query)),
			chromedp.Evaluate(`document.querySelector("#results li:first-child a")?.getAttribute("href") ?? ""`, &first),
		)
		if first != page {
			t.Errorf("the first result for %q is %q, want %q", query, first, page)
		}
	}
}

// tab is a page of a browser and the messages of its console.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	console []string
}

// open starts a browser that reaches nothing but files.
func open(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() { chromedp.Cancel(ctx) }) // it waits: a browser writes to its directory until it ends
	tb := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, tb.listen)
	tb.do(log.Enable(), runtime.Enable())
	return tb
}

// listen records the messages of the console.
func (b *tab) listen(event any) {
	var said string
	switch event := event.(type) {
	case *runtime.EventConsoleAPICalled:
		said = fmt.Sprintf("%s %v", event.Type, event.Args)
	case *runtime.EventExceptionThrown:
		said = event.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		said = event.Entry.Text + " " + event.Entry.URL
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.console = append(b.console, said)
}

// said returns the messages of the console since the last call.
func (b *tab) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.console
	b.console = nil
	return said
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// picture writes a screenshot if -pictures is set.
func (b *tab) picture(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	var png []byte
	b.do(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// pagesOf are the pages of a site.
func pagesOf(t *testing.T, dir string) (pages []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(name) == ".html" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	return pages
}
