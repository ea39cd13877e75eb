package domaintest

import (
	"context"
	"fmt"

	"gpupool/domain"
	"gpupool/domain/pool"
)

func withOperator(p *Pool) *Pool {
	p.T.Helper()
	ctx := context.Background()
	code := must[string](p)(p.Service.PrepareOperatorCode(ctx))
	u := must[domain.User](p)(p.Service.BecomeOperator(ctx, domain.Actor{Via: domain.ViaWeb},
		domain.BecomeOperatorInput{Code: code, Email: "tomas@norbridge.example", Name: "Tomas Berg", Password: Password}))
	p.Operator = p.Actor(u.ID)
	return p
}

// Settings is a valid form of the pool's settings.
func Settings() domain.SettingsInput {
	return domain.SettingsInput{Name: "Norbridge", Currency: "EUR", Zone: "Europe/Berlin", GraceHours: "24", SetupGraceMinutes: "10", SetupLimitMinutes: "30", ForgetAfterHours: "168",
		NoticeMinutes: "10", Signal: "SIGUSR1", DefaultMaxRunHours: "24", LongestMaxRunHours: "744", InvoicePrefix: "NB",
		Seller: domain.Party{Name: "Norbridge eG", Address: "Hafen 1\n20457 Hamburg", Country: "DE", TaxID: "DE123456789"},
		Bank:   "IBAN DE02 1203 0000 0000 2020 51", Fair: true}
}

// Class is a valid form of a GPU class.
func Class() domain.ClassInput {
	return domain.ClassInput{ID: "a100-80g", Name: "A100 80 GB", Vendor: "nvidia", Type: "gpu", Model: "NVIDIA A100-SXM4-80GB", MemoryMiB: "81920"}
}

// Account is a valid form of a billing account.
func Account() domain.AccountInput {
	return domain.AccountInput{Name: "Main", Buyer: domain.Party{Name: "TU Rheinau", Address: "Campus 1\n76131 Rheinau", Country: "DE"},
		Emails: "billing@rheinau.example", TaxKind: "standard", TaxRate: "19", TermsDays: "30", Language: "en", Issuer: "local"}
}

// Prices is a valid form of a price list for one class, valid at publication.
func Prices(class pool.ClassID) domain.PriceListInput {
	return domain.PriceListInput{Name: "Prices", Rows: []domain.PriceRowInput{
		{Class: class, Cover: pool.Own, Price: "1.25"},
		{Class: class, Cover: pool.Loan, Price: "1.00", LenderShare: "60"},
		{Class: class, Cover: pool.SpotCover, Price: "0.45", LenderShare: "60"},
	}}
}

// fill makes the pool that New describes.
func fill(p *Pool) *Pool {
	p.T.Helper()
	ctx := context.Background()
	withOperator(p)
	must[domain.Settings](p)(p.Service.SaveSettings(ctx, p.Operator, Settings()))
	p.Class = must[domain.GPUClass](p)(p.Service.CreateClass(ctx, p.Operator, Class())).ID
	p.Site = must[domain.Site](p)(p.Service.SaveSite(ctx, p.Operator, "main", "Main hall")).ID
	p.Node = "gpu-01"
	p.Update(func(tx domain.Tx) error { return tx.SaveNode(NodeOf("gpu-01", p.Class, p.Site, 8)) })
	p.Starter = p.Plan("starter", "Starter", "490.00", domain.PlanClassInput{Class: p.Class, Guaranteed: "1", IncludedHours: "400", Borrow: "2"})
	p.Campus = p.Plan("campus", "Campus", "6490.00", domain.PlanClassInput{Class: p.Class, Guaranteed: "6", IncludedHours: "3000", Borrow: "6", Lend: "4"})
	list := must[domain.PriceList](p)(p.Service.SavePriceListDraft(ctx, p.Operator, Prices(p.Class)))
	var err error
	if p.Prices, _, err = p.Service.PublishPriceList(ctx, p.Operator, list.ID, ""); err != nil {
		p.T.Fatal(err)
	}
	p.Org, p.Other = "rheinau", "kestrelis"
	p.Owner = p.NewMember("rheinau", "TU Rheinau", "anna")
	p.OtherOwner = p.NewMember("kestrelis", "Kestrelis Mobility", "camille")
	p.Account = must[domain.BillingAccount](p)(p.Service.CreateAccount(ctx, p.Owner, p.Org, Account()))
	p.Project = must[domain.Project](p)(p.Service.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: "LLM"}))
	p.Subscription = must[domain.Subscription](p)(p.Service.Subscribe(ctx, p.Owner, p.Org, domain.SubscribeInput{Version: p.Campus.ID, Account: p.Account.ID}))
	p.Finance = p.Join(p.Owner, p.Org, "martina", pool.RoleFinance)
	p.Lead = p.Join(p.Owner, p.Org, "sara", pool.RoleLead)
	p.Member = p.Join(p.Owner, p.Org, "ming", pool.RoleMember)
	p.Viewer = p.Join(p.Owner, p.Org, "jonas", pool.RoleViewer)
	return p
}

// Plan publishes a plan with one version.
func (p *Pool) Plan(id, name, fee string, classes ...domain.PlanClassInput) domain.PlanVersion {
	p.T.Helper()
	ctx := context.Background()
	must[domain.Plan](p)(p.Service.CreatePlan(ctx, p.Operator, domain.PlanInput{ID: id, Name: name}))
	v := must[domain.PlanVersion](p)(p.Service.SavePlanDraft(ctx, p.Operator, pool.PlanID(id), domain.PlanVersionInput{Fee: fee, Classes: classes}))
	v, _, err := p.Service.PublishPlan(ctx, p.Operator, v.ID)
	if err != nil {
		p.T.Fatal(err)
	}
	return v
}

// NodeOf is a ready node with healthy GPUs, as the inventory would store it.
func NodeOf(id pool.NodeID, class pool.ClassID, site pool.SiteID, gpus int) domain.Node {
	n := domain.Node{ID: id, Name: string(id), Class: class, Site: site, Contributor: pool.Consortium, GPUs: gpus, State: domain.NodeReady}
	for i := range gpus {
		n.Devices = append(n.Devices, fmt.Sprintf("GPU-%s-%d", id, i))
	}
	return n
}
