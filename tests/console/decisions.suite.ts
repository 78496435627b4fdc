import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, describe, expect, it } from 'vitest'
import { type CheckedPage, axeFindings, openPage, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import { signIn } from './operator-page.ts'
import type { ConsoleSetup } from './console-setup.ts'
import { verifyFile } from './verify-file.ts'

const CHECKED = '[data-checks="done"], [data-checks="failed"]'

/** The demo contains six decisions, two of them denied, and four payments. */
export function describeDecisions(setup: () => ConsoleSetup): void {
  const opened: CheckedPage[] = []
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close()
  })

  const open = async (path: string): Promise<CheckedPage> => {
    const { browser, demo } = setup()
    const checkedPage = await openPage(browser, demo.url, { reducedMotion: 'reduce' })
    opened.push(checkedPage)
    await visit(checkedPage, demo.url + path)
    await signIn(checkedPage.page, demo.keyFile)
    return checkedPage
  }

  const deniedId = async (): Promise<string> => {
    const { groups } = await setup().operator.evidence.decisions({ outcome: 'denied', limit: 1 })
    return groups[0]?.decision_id ?? ''
  }

  const statusOf = async (page: Page): Promise<Readonly<Record<string, string>>> => {
    await page.waitForSelector(CHECKED)
    const lines = await page.locator('[data-check]').all()
    const pairs = lines.map(async (line) => [
      (await line.getAttribute('data-check')) ?? '',
      (await line.getAttribute('data-status')) ?? '',
    ])
    return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>
  }

  const failedChecks = async (page: Page): Promise<readonly string[]> =>
    Object.entries(await statusOf(page))
      .filter(([, status]) => status === 'failed')
      .map(([name]) => name)

  /** Opens a denied decision with one changed response. */
  const openChanged = async (route: string, before: string, after: string): Promise<Page> => {
    const { page } = await open('/operator/help')
    await page.route(route, async (each) => {
      const response = await each.fetch()
      await each.fulfill({ response, body: (await response.text()).replace(before, after) })
    })
    await page.waitForSelector('.keychip')
    await page.evaluate(`history.pushState({}, '', '/operator/decisions/${await deniedId()}')`)
    await page.evaluate(`dispatchEvent(new PopStateEvent('popstate'))`)
    return page
  }

  describe('decisions', () => {
    it('are listed with outcome, reason and counts, and narrowed by the address', async () => {
      const { page, trouble } = await open('/operator/decisions')
      await page.waitForSelector('tbody a.name')
      expect(await page.locator('tbody tr').count()).toBe(6)
      await page.waitForSelector('.tabs a:has-text("Denied") .n:has-text("2")')
      await page.click('.tabs a:has-text("Denied")')
      await page.waitForSelector('.pager:has-text("1 to 2")')
      expect(page.url()).toContain('outcome=denied')
      expect(await page.textContent('tbody tr')).toContain('spending/amount: the number is beyond the limit')
      await page.goto(`${setup().demo.url}/operator/decisions?failed_gate=spending/amount&vendor_id=captain-4`)
      await signIn(page, setup().demo.keyFile)
      await page.waitForSelector('.pager:has-text("1 to 1")')
      expect(trouble).toEqual([])
    })

    it('open from the list, with the reason in one sentence and every check passed', async () => {
      const { page, trouble } = await open('/operator/decisions?outcome=denied')
      await page.click('tbody tr:has-text("captain-4") a.name')
      await page.waitForSelector('[data-story]')
      expect(await page.textContent('[data-story]')).toBe(
        'captain-4 asked for pay.invoice with amount = 1500. The attestation grants it, but policy spending version 2 allows amount up to 1000.',
      )
      expect(await page.getAttribute('.meter', 'aria-label')).toBe('asked 1500, at most 1000')
      const { anchor, inclusion, ...certain } = await statusOf(page)
      expect(new Set(Object.values(certain))).toEqual(new Set(['passed']))
      expect(Object.keys(certain)).toHaveLength(7)
      // The log and the anchors are written by jobs after the entries.
      expect([anchor, inclusion]).not.toContain('failed')
      expect(trouble).toEqual([])
    })

    it.each([
      ['context', '**/admin/evidence?*decision_id*', '"amount":', '"amount":1'],
      ['signature', '**/admin/evidence?*decision_id*', '"detail":"the number', '"detail":"The number'],
      ['justification', '**/admin/evidence?*decision_id*', '"reason":"the number', '"reason":"The number'],
      ['entries', '**/admin/evidence?*decision_id*', '"entry":{"attestation_id":"', '"entry":{"attestation_id":"0'],
      ['policies', '**/admin/boundary-policies/*/history', '"max":1000', '"max":1001'],
      ['attestation', '**/attestations/*', 'role:client', 'role:clienT'],
      ['links', '**/admin/evidence/export*', '"outcome":"', '"outcome":"x'],
      ['inclusion', '**/evidence-log/checkpoint', '\n\n', '\nx\n\n'],
    ])('show a changed byte at the line %s and at no other', async (name, route, before, after) => {
      const page = await openChanged(route, before, after)
      expect(await failedChecks(page)).toEqual([name])
    })

    it('name both values of a failed comparison', async () => {
      const page = await openChanged('**/admin/boundary-policies/*/history', '"max":1000', '"max":1001')
      await page.waitForSelector('[data-checks="failed"]')
      expect(await page.textContent('[data-check="policies"]')).toMatch(/expected [0-9a-f]{64}, found [0-9a-f]{64}/)
      expect(await page.textContent('[data-checks] header')).toContain('1 of 9 failed')
    })

    it('are exported as one file, which the command line verifies offline', async () => {
      const { page } = await open(`/operator/decisions/${await deniedId()}`)
      await page.waitForSelector('[data-checks="done"]')
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Export as one file')])
      const folder = await mkdtemp(join(tmpdir(), 'chancery-decision-'))
      try {
        const file = join(folder, download.suggestedFilename())
        await download.saveAs(file)
        const genesis = await setup().operator.sovereign.genesis()
        expect(await verifyFile(file, genesis)).toMatchObject({
          kind: 'evidence-pack',
          valid: true,
          decision_id: await deniedId(),
        })
        const text = await readFile(file, 'utf8')
        await writeFile(file, text.replace('\\"amount\\":', '\\"amount\\":9'))
        await expect(verifyFile(file, genesis)).rejects.toMatchObject({ code: 1 })
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })

    it('that are not stored are reported as such', async () => {
      const { page } = await open('/operator/decisions/00000000-0000-4000-8000-000000000000')
      await page.waitForSelector('text=The store has no such decision')
      expect(await page.textContent('.blank')).toContain('not a decision of this authority')
    })
  })

  describe('evidence', () => {
    it('is found by kind, resource and sequence, and an entry opens as a drawer', async () => {
      const { page, trouble } = await open('/operator/evidence?entry_kind=decision')
      await page.waitForSelector('.pager:has-text("1 to 6")')
      await page.fill('[data-search]', 'invoice/2')
      await page.waitForSelector('text=Nothing matches')
      await page.click('[aria-label="Remove the filter Kind"]')
      await page.waitForSelector('.pager:has-text("1 to 1")')
      await page.click('tbody tr a.id')
      await page.waitForSelector('[data-entry-checks="done"]')
      expect(await page.locator('[data-entry-checks] [data-status="passed"]').count()).toBe(3)
      expect(trouble).toEqual([])
    })

    it('is verified in the browser, which detects a changed line and a changed past', async () => {
      const { page } = await open('/operator/evidence')
      await page.click('button:has-text("Verify here")')
      await page.waitForSelector('[data-chain="valid"]')
      expect(await page.textContent('.chainhead')).toContain('Unbroken, #1 to #')
      await page.route('**/admin/evidence/export*', async (route) => {
        const response = await route.fetch()
        const body = (await response.text())
          .replace('pay.invoice', 'pay.invoicE')
          .replace(/"entry_digest":"[0-9a-f]{4}/g, '"entry_digest":"0000')
        await route.fulfill({ response, body })
      })
      await page.click('button:has-text("Verify again")')
      await page.waitForSelector('[data-chain="broken"]')
      expect(await page.textContent('[data-failures]')).toContain('the entry was changed after it was stored')
      await page.click('.nav a:has-text("Decisions")')
      await page.waitForSelector('tbody a.name')
      await page.click('.nav a:has-text("Evidence")')
      await page.waitForSelector('[data-chain="changed"]')
    })

    it('is exported byte by byte, and goes on after a failed read', async () => {
      const { page, trouble } = await open('/operator/evidence?do=export')
      let isBroken = true
      await page.route('**/admin/evidence/export*', (route) =>
        isBroken ? route.fulfill({ status: 503, body: '{}' }) : route.continue(),
      )
      await page.click('dialog[data-drawer="export"] .btn.primary')
      await page.waitForSelector('dialog[data-drawer="export"] [role="alert"]')
      isBroken = false
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.click('dialog[data-drawer="export"] .btn.primary'),
      ])
      await page.waitForSelector('[data-export="done"]')
      const lines = await setup().operator.evidence.lines(0)
      const text = await readFile(await download.path(), 'utf8')
      expect(lines.length).toBeGreaterThan(0)
      expect(text.split('\n').filter((line) => line !== '')).toEqual(lines)
      expect(trouble.filter((each) => !each.includes('503'))).toEqual([])
    })

    it('shows an anchor of another chain when the chain itself is valid', async () => {
      const { page } = await open('/operator/evidence')
      await page.route('**/admin/evidence/anchors*', async (route) => {
        const response = await route.fetch()
        const body = (await response.text()).replace(/"entry_digest":"[0-9a-f]{4}/, '"entry_digest":"0000')
        await route.fulfill({ response, body })
      })
      await page.click('button:has-text("Verify here")')
      await page.waitForSelector('[data-chain="broken"]')
      expect(await page.textContent('[data-failures]')).toContain('anchor_mismatch')
    })

    it('is anchored, and has its executor keys registered and retired', async () => {
      const { operator } = setup()
      const { page, trouble } = await open('/operator/evidence?do=anchor')
      await page.click('dialog[data-drawer="anchor"] .btn.seal')
      await page.waitForSelector('dialog[data-drawer="anchored"], .toast')
      expect((await operator.evidence.status()).unanchored_entries).toBe(0)
      await page.goto(`${setup().demo.url}/operator/evidence?view=keys&do=register`)
      await signIn(page, setup().demo.keyFile)
      const [known] = (await operator.evidence.executorKeys()).executor_keys
      const values = {
        key_id: 'crane-key-1',
        public_key: known?.public_key ?? '',
        executor_sovereign_id: 'HARBOUR-CRANES',
      }
      for (const [name, value] of Object.entries(values)) await page.fill(`#field-${name}`, value)
      await page.click('dialog[data-drawer="register"] .btn.seal')
      await page.click('a:has-text("Retire crane-key-1")')
      await page.fill('#typed-confirmation', 'crane-key-1')
      await page.click('dialog[data-drawer="retire"] .btn.seal')
      await page.waitForSelector('tr:has-text("crane-key-1"):has-text("Retired")')
      expect(trouble).toEqual([])
    })

    it('asks for the date before retention removes entries', async () => {
      const { page } = await open('/operator/evidence?view=retention')
      await page.fill('#retention-date', '2020-01-31')
      await page.click('a:has-text("Remove entries…")')
      await page.waitForSelector('[data-effects=ready]:has-text("No entry from before 2020-01-31 can be removed")')
      expect(await page.isDisabled('dialog .btn.seal')).toBe(true)
      await page.fill('#typed-confirmation', '2020-01-31')
      await page.click('dialog .btn.seal')
      await page.waitForSelector('text=Removed 0 entries.')
    })
  })

  // After the tests that count the decisions of the demo.
  describe('new decisions', () => {
    it('are made by an operator in a drawer, whose message opens the decision and its audit event', async () => {
      const { attestations } = await setup().operator.attestations.list({ subject_id: 'captain-4' })
      const { page, trouble } = await open('/operator/decisions')
      await page.click('text=Decide a request…')
      await page.fill('#field-capability', 'pay.invoice')
      await page.fill('#field-parameters', '{ "amount": 2000 }')
      await page.waitForSelector('dialog [role=alert]:has-text("Give the id of the attestation.")')
      await page.fill('#field-attestation_id', attestations?.[0]?.attestation.attestation_id ?? '')
      await page.waitForSelector('[data-sign][aria-disabled=false]')
      expect(await axeFindings(page)).toEqual([])
      await page.click('[data-sign]')
      await page.waitForSelector('.toast:has-text("The request is denied:")')
      await page.click('.toast >> text=Audit event')
      await page.waitForSelector('tbody .id:has-text("boundary_attestation_decision_made")')
      expect(await page.locator('tbody tr').count()).toBe(1)
      expect(new URL(page.url()).searchParams.get('request_id')).toMatch(/^[0-9a-f-]{36}$/)
      await page.goBack()
      await page.click('tbody tr:first-child:has-text("captain-4") a.name')
      await page.waitForSelector('[data-story]:has-text("amount = 2000")')
      expect(trouble).toEqual([])
    })
  })

  it('shows decisions and evidence without findings on every screen', async () => {
    const paths = [
      '/operator/decisions',
      `/operator/decisions/${await deniedId()}`,
      '/operator/evidence',
      '/operator/evidence?entry=1',
    ]
    for (const path of paths) {
      const { page, trouble } = await open(path)
      await page.waitForSelector(path.includes('entry=') ? '[data-entry-checks="done"]' : `${CHECKED}, tbody a.name`)
      await checkScreens(page, path.slice(1).replaceAll(/[/?=]/g, '-').slice(0, 24))
      expect(trouble).toEqual([])
    }
  })
}
