package domain_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// hostile is what people and programs type into fields.
var hostile = []string{"", " ", strings.Repeat("x", 5000), "-1", "0", "1", "1.5", "1e9", "NaN", "+1", "9223372036854775807", "99999999999999999999999",
	"0.000000000000001", "１２", "12 EUR", "1,000", "🚀", "中文名称", "'; DROP TABLE users; --", `<script>alert("1")</script>`,
	"\x00", "a\x00b", "\xff\xfe", "\u202eabc", "../../etc/passwd", "%s%d%n", "null", "a@b", "2026-13-45", "24:01"}

// TestHostileTextIsTakenAsTextOrRefusedByField puts every hostile text into
// every text field of every form, on both engines. It is stored as typed or
// the form comes back: never an error of ours, never a panic.
func TestHostileTextIsTakenAsTextOrRefusedByField(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		s := p.Service
		n := 0
		unique := func(prefix string) string { n++; return fmt.Sprintf("%s%d", prefix, n) }
		prices := domaintest.Prices(p.Class)
		forms := []struct {
			name string
			form func() any
			send func(in any) error
		}{
			{"settings", func() any { return ptr(domaintest.Settings()) }, func(in any) error {
				return second(s.SaveSettings(ctx, p.Operator, *in.(*domain.SettingsInput)))
			}},
			{"operator", func() any {
				return &domain.BecomeOperatorInput{Code: "x", Email: "a@b.example", Name: "A", Password: domaintest.Password}
			}, func(in any) error {
				return second(s.BecomeOperator(ctx, domain.Actor{}, *in.(*domain.BecomeOperatorInput)))
			}},
			{"member", func() any {
				return &domain.CreateMemberInput{Slug: unique("org-"), Name: unique("Org "), OwnerEmail: "o@o.example"}
			}, func(in any) error {
				_, _, _, err := s.CreateMember(ctx, p.Operator, *in.(*domain.CreateMemberInput))
				return err
			}},
			{"organisation", func() any {
				return &domain.OrganisationInput{Name: unique("Org "), ShowAs: "pseudonym", Pseudonym: unique("P ")}
			}, func(in any) error {
				return second(s.UpdateOrganisation(ctx, p.Owner, p.Org, *in.(*domain.OrganisationInput)))
			}},
			{"invitation", func() any { return &domain.InviteInput{Email: unique("e") + "@x.example", Role: pool.RoleMember} }, func(in any) error {
				_, _, err := s.InviteMember(ctx, p.Owner, p.Org, *in.(*domain.InviteInput))
				return err
			}},
			{"profile", func() any { return &domain.ProfileInput{Name: "Ming", Lang: "zh", TimeZone: "Asia/Shanghai"} }, func(in any) error {
				return second(s.UpdateProfile(ctx, p.Member, *in.(*domain.ProfileInput)))
			}},
			{"token", func() any { return &domain.TokenInput{Name: "ci", Scopes: []string{domain.ScopeJobs}, Days: "30"} }, func(in any) error {
				_, _, err := s.CreateToken(ctx, p.Member, *in.(*domain.TokenInput))
				return err
			}},
			{"project", func() any { return &domain.ProjectInput{Name: unique("P"), Budget: "10"} }, func(in any) error {
				return second(s.CreateProject(ctx, p.Owner, p.Org, *in.(*domain.ProjectInput)))
			}},
			{"class", func() any {
				return &domain.ClassInput{ID: unique("c-"), Name: "C", Vendor: "nvidia", Model: unique("M"), MemoryMiB: "1", CloudLow: "1", CloudHigh: "2", CloudNote: "n"}
			}, func(in any) error { return second(s.CreateClass(ctx, p.Operator, *in.(*domain.ClassInput))) }},
			{"plan", func() any { return &domain.PlanInput{ID: unique("plan-"), Name: unique("Plan ")} }, func(in any) error {
				return second(s.CreatePlan(ctx, p.Operator, *in.(*domain.PlanInput)))
			}},
			{"plan version", func() any { return &domain.PlanVersionInput{Fee: "1"} }, func(in any) error {
				v := *in.(*domain.PlanVersionInput)
				v.Classes = []domain.PlanClassInput{{Class: p.Class, Borrow: "1"}}
				return second(s.SavePlanDraft(ctx, p.Operator, "campus", v))
			}},
			{"plan class", func() any {
				return &domain.PlanClassInput{Class: p.Class, Guaranteed: "3", IncludedHours: "1", Lend: "1"}
			}, func(in any) error {
				return second(s.SavePlanDraft(ctx, p.Operator, "campus", domain.PlanVersionInput{Fee: "1", Classes: []domain.PlanClassInput{*in.(*domain.PlanClassInput)}}))
			}},
			{"price list", func() any { return &domain.PriceListInput{Name: "L"} }, func(in any) error {
				l := *in.(*domain.PriceListInput)
				l.Rows = prices.Rows
				return second(s.SavePriceListDraft(ctx, p.Operator, l))
			}},
			{"price", func() any { return ptr(prices.Rows[1]) }, func(in any) error {
				return second(s.SavePriceListDraft(ctx, p.Operator, domain.PriceListInput{Name: "L", Rows: []domain.PriceRowInput{*in.(*domain.PriceRowInput)}}))
			}},
			{"account", func() any { in := domaintest.Account(); in.Name = unique("A"); return &in }, func(in any) error {
				return second(s.CreateAccount(ctx, p.Finance, p.Org, *in.(*domain.AccountInput)))
			}},
			{"order", func() any { return &domain.OrderInput{Number: unique("4500-17/B-"), Amount: "1", AtZero: "stop"} }, func(in any) error {
				return second(s.AddOrder(ctx, p.Finance, p.Org, p.Account.ID, *in.(*domain.OrderInput)))
			}},
			{"cap", func() any { return &domain.CapInput{Amount: "1", Mode: domain.CapStop} }, func(in any) error {
				return second(s.SetCap(ctx, p.Owner, p.Org, *in.(*domain.CapInput)))
			}},
			{"limit", func() any { return &domain.LimitInput{Borrow: "1", Lend: "1"} }, func(in any) error {
				return second(s.SetLimit(ctx, p.Owner, p.Org, p.Class, *in.(*domain.LimitInput)))
			}},
			{"project quota", func() any { return &domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "1", Borrow: "1"} }, func(in any) error {
				return second(s.SetProjectQuota(ctx, p.Owner, p.Org, p.Project.ID, *in.(*domain.ProjectQuotaInput)))
			}},
			{"subscription", func() any { return &domain.SubscribeInput{Version: p.Starter.ID, Account: p.Account.ID} }, func(in any) error {
				return second(s.PreviewSubscription(ctx, p.Owner, p.Org, *in.(*domain.SubscribeInput)))
			}},
			{"node", func() any { return &domain.NodeInput{Site: p.Site} }, func(in any) error {
				return second(s.AssignNode(ctx, p.Operator, p.Node, *in.(*domain.NodeInput)))
			}},
			{"password", func() any { return &domain.PasswordInput{Current: domaintest.Password, New: "another long password"} }, func(in any) error {
				return s.ChangePassword(ctx, p.Viewer, *in.(*domain.PasswordInput))
			}},
		}
		for _, x := range forms {
			fields := textFields(reflect.TypeOf(x.form()).Elem(), nil)
			if len(fields) == 0 {
				t.Errorf("%s has no text field", x.name)
			}
			for _, path := range fields {
				for _, text := range hostile {
					in := x.form()
					reflect.ValueOf(in).Elem().FieldByIndex(path).SetString(text)
					switch err := x.send(in); code(t, err) {
					case "", domain.Invalid, domain.Conflict, domain.TooMany, domain.NotFound:
					default:
						t.Errorf("%s, field %v = %.30q: %v", x.name, path, text, err)
					}
				}
			}
		}
	})
}

func ptr[T any](v T) *T { return &v }

// textFields are the paths of all fields of kind string.
func textFields(typ reflect.Type, path []int) (out [][]int) {
	for i := range typ.NumField() {
		at := append(append([]int{}, path...), i)
		switch f := typ.Field(i).Type; f.Kind() {
		case reflect.String:
			out = append(out, at)
		case reflect.Struct:
			out = append(out, textFields(f, at)...)
		}
	}
	return out
}

func TestRefusalsNameTheFieldAndTheLimit(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	settings := func(set func(*domain.SettingsInput)) error {
		in := domaintest.Settings()
		set(&in)
		return second(s.SaveSettings(ctx, p.Operator, in))
	}
	account := func(set func(*domain.AccountInput)) error {
		in := domaintest.Account()
		in.Name = "Other"
		set(&in)
		return second(s.CreateAccount(ctx, p.Owner, p.Org, in))
	}
	row := func(set func(*domain.PriceRowInput)) error {
		in := domaintest.Prices(p.Class)
		set(&in.Rows[0])
		return second(s.SavePriceListDraft(ctx, p.Operator, in))
	}
	for want, err := range map[string]error{
		"grace_hours: Write a whole number from 0 to 168.":   settings(func(in *domain.SettingsInput) { in.GraceHours = "169" }),
		"currency: Currency \"XXX\" is not one of EUR":       settings(func(in *domain.SettingsInput) { in.Currency = "XXX" }),
		"zone: Write an IANA time zone":                      settings(func(in *domain.SettingsInput) { in.Zone = "Mars/Olympus" }),
		"name: At most 100 characters; this has 101.":        settings(func(in *domain.SettingsInput) { in.Name = strings.Repeat("名", 101) }),
		"seller_country: Write a country":                    settings(func(in *domain.SettingsInput) { in.Seller.Country = "Germany" }),
		"default_max_run_hours: Longer than the longest, 10": settings(func(in *domain.SettingsInput) { in.LongestMaxRunHours = "10" }),
		"terms_days: Write a whole number from 0 to 120.":    account(func(in *domain.AccountInput) { in.TermsDays = "-1" }),
		"tax_rate: A percentage is at most 100.":             account(func(in *domain.AccountInput) { in.TaxRate = "101" }),
		"tax_reason: Please fill in this field.":             account(func(in *domain.AccountInput) { in.TaxKind, in.TaxRate = "exempt", "" }),
		"buyer_tax_id: Reverse charge needs":                 account(func(in *domain.AccountInput) { in.TaxKind, in.TaxRate, in.TaxReason = "reverse", "", "§ 13b UStG" }),
		"issuer: Choose one of: local.":                      account(func(in *domain.AccountInput) { in.Issuer = "stripe" }),
		"emails: Write an e-mail address":                    account(func(in *domain.AccountInput) { in.Emails = "a@b.example, nobody" }),
		"price.0: Can't be negative":                         row(func(in *domain.PriceRowInput) { in.Price = "-1" }),
		"price.0: At most 36000.00 EUR.":                     row(func(in *domain.PriceRowInput) { in.Price = "36000.01" }),
		"from.0: Write a time of day from 00:00 to 23:59.":   row(func(in *domain.PriceRowInput) { in.From, in.To = "24:00", "06:00" }),
		"to.0: The window is empty.":                         row(func(in *domain.PriceRowInput) { in.From, in.To = "06:00", "06:00" }),
		"class.0: There is no GPU type \"b200\".":            row(func(in *domain.PriceRowInput) { in.Class = "b200" }),
		"budget: At most 2 digits after the point.":          second(s.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: "X", Budget: "1.005"})),
		"sites: There is no site \"mars\".":                  second(s.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: "X", Sites: []pool.SiteID{"mars"}})),
		"name: Another project has this name.":               second(s.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: "llm"})),
		"number: At most 100 characters; this has 101.":      second(s.AddOrder(ctx, p.Owner, p.Org, p.Account.ID, domain.OrderInput{Number: strings.Repeat("4", 101), Amount: "1", AtZero: "stop"})),
		"amount: Above 0.00 EUR.":                            second(s.AddOrder(ctx, p.Owner, p.Org, p.Account.ID, domain.OrderInput{Number: "1", Amount: "0", AtZero: "stop"})),
		"borrow: Write a whole number from 0 to 6.":          second(s.SetLimit(ctx, p.Owner, p.Org, p.Class, domain.LimitInput{Borrow: "7"})),
		"lend: Write a whole number from 0 to 4.":            second(s.SetLimit(ctx, p.Owner, p.Org, p.Class, domain.LimitInput{Lend: "5"})),
		"guaranteed: At most 6: of the 6 guaranteed GPUs":    second(s.SetProjectQuota(ctx, p.Owner, p.Org, p.Project.ID, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "7"})),
		"borrow: Write a whole number from 0 to 100000.":     second(s.SetProjectQuota(ctx, p.Owner, p.Org, p.Project.ID, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "0", Borrow: "-1"})),
		"class: There is no such GPU type.":                  second(s.SetProjectQuota(ctx, p.Owner, p.Org, p.Project.ID, domain.ProjectQuotaInput{Class: "b200", Guaranteed: "0"})),
		"weight: Write a whole number from 0 to 1000.":       second(s.SetWeight(ctx, p.Operator, p.Org, p.Class, "1001")),
		"org: There is no such member.":                      second(s.SetWeight(ctx, p.Operator, "nobody", p.Class, "1")),
		"quota: Write a whole number from 0 to 8.":           second(s.AddContribution(ctx, p.Operator, domain.ContributionInput{Org: p.Org, Node: p.Node, GPUs: "8", Quota: "9"})),
		"gpus: Write a whole number from 1 to 8.":            second(s.AddContribution(ctx, p.Operator, domain.ContributionInput{Org: p.Org, Node: p.Node, GPUs: "9", Quota: "0"})),
		"lend.a100-80g: Lends 2 of only 1 guaranteed GPUs.":  second(s.SavePlanDraft(ctx, p.Operator, "campus", domain.PlanVersionInput{Fee: "1", Classes: []domain.PlanClassInput{{Class: p.Class, Guaranteed: "1", Lend: "2"}}})),
		"guaranteed.a100-80g: Write a whole number from 0":   second(s.SavePlanDraft(ctx, p.Operator, "campus", domain.PlanVersionInput{Fee: "1", Classes: []domain.PlanClassInput{{Class: p.Class, Guaranteed: "-3"}}})),
		"model: a100-80g selects these devices already.": func() error {
			in := domaintest.Class()
			in.ID = "x1"
			return second(s.CreateClass(ctx, p.Operator, in))
		}(),
		"slug: \"consortium\" stands for the consortium": member(p, "consortium", "C"),
		"slug: rheinau is a member already.":             member(p, "rheinau", "C"),
		"name: Another member has this name.":            member(p, "other", "tu rheinau"),
		"slug: Must be 2 to 63 characters":               member(p, "A B", "C"),
		"owner_email: Write an e-mail address such as": func() error {
			_, _, _, err := s.CreateMember(ctx, p.Operator, domain.CreateMemberInput{Slug: "x1", Name: "X", OwnerEmail: "Anna <a@b.example>"})
			return err
		}(),
		"email: jonas@rheinau.example is a member already, as": invited(p, "Jonas@rheinau.example", pool.RoleMember),
		"role: Choose one of: member lead":                     invited(p, "x@y.example", "king"),
	} {
		wants(t, err, domain.Invalid, want)
	}
}

func member(p *domaintest.Pool, slug, name string) error {
	_, _, _, err := p.Service.CreateMember(ctx, p.Operator, domain.CreateMemberInput{Slug: slug, Name: name, OwnerEmail: "a@b.example"})
	return err
}

func invited(p *domaintest.Pool, email string, role pool.Role) error {
	_, _, err := p.Service.InviteMember(ctx, p.Owner, p.Org, domain.InviteInput{Email: email, Role: role})
	return err
}
