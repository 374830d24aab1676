package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/terminal"
)

var approveEntry = commandInfo{
	name: "approve", operands: "[SERVER]", does: "approve servers, or new and changed definitions",
	about: `It shows what an approval of the server covers and what has changed, or which
tools, prompts, resource templates and instructions are new or have changed, and
asks; the answer s shows their whole texts. --all shows all that waits, and asks
once. Without a terminal --yes is required. Without a name it lists what needs
approval. Without --config it uses the servers of the running host, which
continues by itself, or else those of the user's own configuration. While a host
with a terminal or a desktop runs, the yes is a code that it shows there.`,
	example: "approve files",
	make:    func() command { return new(approveCommand) },
}

type approveCommand struct {
	output
	hostProcess
	all  bool
	code string
}

func (v *approveCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.hostProcess.config, "config", "", "use the servers of `FILE`")
	f.BoolVar(&v.all, "all", false, "approve all that waits, with one question")
	f.BoolVar(&v.yes, "yes", false, "do not ask, and approve what is listed first")
	f.StringVar(&v.code, "code", "", "the `CODE` that the running host shows")
}

func (v *approveCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 1 {
		return usagef("found %d names, want one or none", len(operands))
	}
	v.hostProcess.config = cmp.Or(v.hostProcess.config, m.configOfRunningHost(ctx))
	if err := v.openForApproval(m); err != nil {
		return err
	}
	all, err := v.pending(ctx)
	switch {
	case err != nil:
		return err
	case v.all && len(operands) > 0:
		return usagef("found both --all and %q, want one of them", operands[0])
	case v.all:
		return v.askAndApprove(ctx, m, all)
	case len(operands) == 0:
		return v.list(m, all)
	}
	named := slices.DeleteFunc(slices.Clone(all), func(w approvalscreen.Item) bool { return w.Name() != operands[0] })
	if len(named) == 0 {
		return v.nothingPending(ctx, m, operands[0], all)
	}
	return v.askAndApprove(ctx, m, named)
}

// pending returns what needs approval: servers, then definitions, in the order of the
// configuration. Servers that cannot be started are left out.
func (h *hostProcess) pending(ctx context.Context) ([]approvalscreen.Item, error) {
	questions, err := h.serverQuestions(ctx)
	if err != nil {
		return nil, err
	}
	all := approvalscreen.ItemsOf(questions)
	waiting, err := h.waitingDefinitions(ctx)
	return append(all, waiting...), err
}

// list prints what needs approval.
func (v *approveCommand) list(m *Main, all []approvalscreen.Item) error {
	t := terminal.Table{Head: []string{"NAME", "WHAT"}}
	var items []any
	for _, w := range all {
		if w.Server != nil {
			t.Rows = append(t.Rows, []string{w.Name(), w.Server.Subject.String()})
			item := terminal.Document{
				"name": w.Name(), "server": w.Server.Subject, "changes": append([]string{}, w.Server.Changes...),
				"risks": append([]string{}, w.Server.Subject.Risks()...), "clientRoots": w.Upstream.Questions().Roots,
			}
			if known := w.Server.Tools; known != nil {
				item["tools"] = terminal.Document{"count": known.Count, "others": append([]string{}, known.Others...)}
			}
			items = append(items, item)
			continue
		}
		t.Rows = append(t.Rows, []string{w.Name(), "definitions: " + summarizeChange(w.Change)})
		items = append(items, terminal.Document{"name": w.Name(), "definitions": w.Change})
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"waiting": append([]any{}, items...)})
	}
	if len(all) == 0 {
		m.Info("nothing waits for approval")
	}
	return m.WriteTable(t)
}

// nothingPending explains why a name cannot be approved.
func (v *approveCommand) nothingPending(ctx context.Context, m *Main, written string, all []approvalscreen.Item) error {
	key, _, _ := strings.Cut(written, "/")
	servers := v.servers.Servers()
	i := slices.IndexFunc(servers, func(u host.Upstream) bool { return u.Key == key })
	var names []string
	for _, w := range all {
		names = append(names, w.Name())
	}
	if i < 0 {
		for _, u := range servers {
			names = append(names, u.Key)
		}
		return usagef("server %q: unknown%s; it is not in %s", key, didYouMean(written, names), v.path)
	}
	if _, err := v.approvals.Check(ctx, &servers[i]); err != nil {
		return codedErrorf(exitUnreachable, "%w", err)
	}
	if better := didYouMean(written, names); better != "" {
		return usagef("nothing of %q waits for approval%s", written, better)
	}
	m.Info("%s: nothing waits for approval", written)
	return nil
}

// askAndApprove shows pending approvals, asks once, and stores the answer.
func (v *approveCommand) askAndApprove(ctx context.Context, m *Main, all []approvalscreen.Item) error {
	if len(all) == 0 {
		m.Info("nothing waits for approval")
		return nil
	}
	approvalscreen.Show(&m.IO, all)
	if hasDefinitions := func(w approvalscreen.Item) bool { return w.Server == nil }; !m.Interactive && slices.ContainsFunc(all, hasDefinitions) {
		m.Message("\nThe whole texts: %s", m.program()+" approve --json")
	}
	how, err := v.consent(ctx, m, all)
	if err != nil {
		return err
	}
	by := "by the user"
	if how == host.GrantedUnattended && !m.Interactive {
		by = "by --yes, unattended"
	}
	if err := v.approvePending(ctx, all, by); err != nil {
		return err
	}
	for _, name := range approvalscreen.Names(all) {
		m.Info("%s is approved", name)
	}
	return nil
}

// consent asks the user for a yes to what was shown. Without one it returns an error.
func (v *approveCommand) consent(ctx context.Context, m *Main, all []approvalscreen.Item) (host.GrantedHow, error) {
	question := terminal.YesNo{Text: approveQuestion(all), Options: []terminal.Option{showsTexts}}
	refused := codedErrorf(exitConsent, "not approved: %s", strings.Join(approvalscreen.Names(all), ", "))
	switch {
	case v.yes:
		return v.questions.requireCode(ctx, intentOf(all), v.code)
	case !m.Interactive:
		return "", v.noTerminal(ctx)
	case v.code != "":
		if answer, err := m.AskYesNo(ctx, terminal.YesNo{Text: question.Text}); answer != terminal.Yes {
			return "", cmp.Or(unlessEnded(err), refused)
		}
		return v.questions.requireCode(ctx, intentOf(all), v.code)
	}
	if answer, err := v.askForApproval(ctx, all, question); answer != terminal.Yes {
		return "", cmp.Or(unlessEnded(err), refused)
	}
	return host.GrantedByTerminal, nil
}

// askForApproval asks a question about approvals that was shown, and returns the answer, as
// AskYesNo does. While another host shows questions, the code that it shows is the yes: otherwise
// any program with a terminal of its own could approve. The option showsTexts is handled here.
func (h *hostProcess) askForApproval(ctx context.Context, all []approvalscreen.Item, q terminal.YesNo) (answer string, err error) {
	showing, err := h.questions.codeHosts(ctx)
	if err != nil {
		return terminal.No, err
	}
	q.Text = "\n" + q.Text
	if len(showing) == 0 { // otherwise the letter would be a yes without the code
		q.Options = append(slices.Clone(q.Options), proxyOptions(all)...)
	}
	ask := func() (string, error) { return h.main.AskYesNo(ctx, q) }
	if len(showing) > 0 {
		about := intentOf(all)
		if err := h.questions.showCodeAt(ctx, showing, about); err != nil {
			return terminal.No, err
		}
		h.main.Message("\nTo say yes, type the code that the host with process ID %d shows now in its terminal, on the desktop or in the inbox of its console.\nNo other program can then say yes for you.", showing[0].PID)
		ask = func() (string, error) { return h.questions.askCode(ctx, showing, about, q) }
	}
	for {
		answer, err = ask()
		if err == nil && answer == passesProxies {
			passProxies(all)
			return terminal.Yes, nil
		}
		if err != nil || answer != showsTexts.Letter || len(q.Options) == 0 || q.Options[0] != showsTexts {
			return answer, err
		}
		approvalscreen.ShowTexts(&h.main.IO, all)
	}
}

// noTerminal says how to approve without a terminal.
func (v *approveCommand) noTerminal(ctx context.Context) error {
	showing, err := v.questions.codeHosts(ctx)
	switch {
	case err != nil:
		return err
	case len(showing) > 0:
		return codedErrorf(exitConsent, "there is no terminal to ask on; answer in the terminal of the host with process ID %d, if it has one, or run the command again with --yes, and then with --code and the code that the host shows there, on the desktop, or in the inbox of its console", showing[0].PID)
	}
	return codedErrorf(exitConsent, "there is no terminal to ask on; --yes approves without asking")
}

// unlessEnded returns an error of reading the terminal, nil at the end of the input.
func unlessEnded(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// digestOf identifies the content of approvals.
func digestOf(all []approvalscreen.Item) string {
	var contents []any
	for _, w := range all {
		if w.Server != nil {
			contents = append(contents, w.Server.Subject)
			continue
		}
		contents = append(contents, w.Name(), w.Change)
	}
	content, _ := json.Marshal(contents, json.Deterministic(true)) // strings and lists, which are always JSON
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// intentOf describes approvals for the host that shows a code for them. It is another one
// for other content under the same names, also for content that was made to be mistaken for it.
func intentOf(all []approvalscreen.Item) string {
	names := approvalscreen.Names(all)
	text := strings.Join(names[:min(len(names), maxIntentNames)], ", ")
	if more := len(names) - maxIntentNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("approve %s (%s)", text, digestOf(all))
}

// maxIntentNames limits the servers that an intent names.
const maxIntentNames = 10

// approvePending records and stores approvals, with those of the servers that have changed in the
// same way. With --yes it approves what they will list first, too, because no user reviews it.
func (h *hostProcess) approvePending(ctx context.Context, all []approvalscreen.Item, by string) error {
	for _, w := range approvalscreen.OnePerQuestion(all) {
		if w.Server == nil {
			if err := h.approveDefinitions(ctx, w, by); err != nil {
				return err
			}
			continue
		}
		for i := range w.Question.Pending {
			p := &w.Question.Pending[i]
			if err := h.approveServer(ctx, p, by); err != nil {
				return err
			}
			if !h.yes || h.servers.Policy().RequiresAsk() {
				continue
			}
			if err := h.definitions.ApproveFirst(ctx, p.Upstream); err != nil {
				return err
			}
		}
	}
	return nil
}
