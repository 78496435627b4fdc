import type { JsonObject } from '@chancery/protocol'
import { accepted, send } from '@chancery/testkit'
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CheckedPage, openPage, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import { useSetup } from './console-setup.ts'
import { signIn } from './operator-page.ts'

/** The policy of the demo allows amounts up to 1000; version 1 up to 500. Asked were 120, 480, 990, 1500, 75 and 4000. */
const setup = useSetup(4)
let checkedPage: CheckedPage
let page: Page
let clicks: number

const open = async (path: string): Promise<void> => {
  const { demo } = setup()
  await visit(checkedPage, demo.url + path)
  await signIn(page, demo.keyFile)
  await page.waitForSelector('.keychip')
}
const click = async (selector: string): Promise<void> => {
  clicks += 1
  await page.click(selector)
}
const sign = async (): Promise<void> => {
  await page.waitForSelector('[data-sign][aria-disabled=false]')
  await click('[data-sign]')
}
const activeVersions = async (): Promise<JsonObject[]> => {
  const view = accepted(await send(setup().demo.url, 'GET', '/dashboard.json'))
  return (view['boundary_policies'] as { active: JsonObject[] }).active
}
const expectActive = async (...versions: readonly number[]): Promise<void> => {
  await expect
    .poll(async () => (await activeVersions()).map(({ version }) => version), { timeout: 30_000 })
    .toEqual(versions)
}

beforeEach(async () => {
  const { browser, demo } = setup()
  checkedPage = await openPage(browser, demo.url)
  page = checkedPage.page
  clicks = 0
})
afterEach(() => checkedPage.close())

describe('the list of policies', () => {
  it('shows the state, version and gates of each policy, and the health of the set', async () => {
    await open('/operator/policies')
    const row = 'tbody tr:has-text("spending")'
    await page.waitForSelector(row)
    const text = (await page.textContent(row)) ?? ''
    for (const part of ['In force', 'version 2 of 2', 'every request']) expect(text).toContain(part)
    expect(await page.textContent('.filters')).toContain('The set in force is healthy')
    await checkScreens(page, 'policies')
    await page.fill('[data-search]', 'no such policy')
    await page.waitForSelector('text=Nothing matches')
    expect(checkedPage.trouble).toEqual([])
  })
})

describe('the versions of a policy', () => {
  it('are compared, activated after a replay, and rolled back from the message, in at most 8 clicks', async () => {
    await open('/operator/policies')
    await click('a.name:has-text("spending")')
    await click('a[aria-label="Compare 1"]')
    await page.waitForSelector('[data-compared="2-1"] .gone:has-text("1000")')
    expect(await page.textContent('[data-compared] .come')).toContain('500')
    await checkScreens(page, 'policy')
    await click('a[aria-label="Activate 1…"]')
    // 990 was allowed by version 2.
    await page.waitForSelector('.effect >> text=1 past request would be newly denied')
    await checkScreens(page, 'policy-activate')
    await sign()
    await expectActive(1)
    await click('.toast >> text=Back to 2')
    await expectActive(2)
    expect(clicks).toBeLessThanOrEqual(8)
    expect(checkedPage.trouble).toEqual([])
  })

  it('are verified in this browser, which names a changed version', async () => {
    await open('/operator/policies/spending')
    await page.waitForSelector('tbody tr:nth-child(2) >> text=verified in this browser')
    expect(await page.locator('[data-not-verified]').count()).toBe(0)
    await page.route('**/admin/boundary-policies/*/history*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replace('"max":1000', '"max":1001') })
    })
    await page.keyboard.press('R')
    await page.waitForSelector('[data-not-verified]:has-text("Version 2: The digest computed here is")')
    await page.waitForSelector('tbody tr:nth-child(2) >> text=verified in this browser')
  })

  it('are deactivated, and put in force again from the message', async () => {
    await open('/operator/policies/spending?do=deactivate-2')
    await page.waitForSelector('.effect >> text=Other policies in force: 0')
    await sign()
    await expectActive()
    await click('.toast >> text=Put 2 in force again')
    await expectActive(2)
  })

  it('are not undone after another change', async () => {
    await open('/operator/policies/spending?do=activate-1')
    await sign()
    await expectActive(1)
    await setup().operator.boundaryPolicies.deactivate('spending', { version: 1 })
    await click('.toast >> text=Back to 2')
    await page.waitForSelector('.toast >> text=Nothing was undone')
    await expectActive()
    await setup().operator.boundaryPolicies.activate('spending', { version: 2 })
  })
})

describe('the policy editor', () => {
  const field = 'textarea[aria-label="Policy as JSON"]'
  const edit = async (change: (text: string) => string): Promise<void> => {
    await page.waitForSelector('[data-validation="valid"]')
    await page.fill(field, change(await page.inputValue(field)))
  }

  it('tests a draft, shows its difference, puts it in force and rolls it back, in at most 8 clicks', async () => {
    await open('/operator/policies')
    await click('a.name:has-text("spending")')
    await click('text=Draft version 3…')
    await edit((text) => text.replace(/"max": 1000\b/, '"max": 100'))
    await page.waitForSelector('[data-diff="+1 −1"] .gone:has-text("1000")')
    await page.waitForSelector('[data-validation="valid"]')
    await click('.strip button:has-text("Replay")')
    // 120, 480 and 990 become denied; 75 stays allowed; 1500 and 4000 stay denied.
    await page.waitForSelector('[data-replay="3/0/3"]')
    expect(await page.locator('.tightrows tbody tr').count()).toBe(3)
    await checkScreens(page, 'policy-draft')
    await click('text=Publish and activate…')
    await page.waitForSelector('.effect >> text=3 past requests would be newly denied')
    await sign()
    await expectActive(3)
    await page.waitForSelector('.stages .done:has-text("In force")')
    await click('.toast >> text=Back to 2')
    await expectActive(2)
    expect(clicks).toBeLessThanOrEqual(8)
    expect(checkedPage.trouble).toEqual([])
  })

  it('names the line of each problem, and offers no publication', async () => {
    await open('/operator/policies/spending/draft')
    await edit((text) => text.replace('"max_value.v1"', '"max_value.v9"'))
    await page.waitForSelector('[data-validation="problems"]')
    expect(await page.textContent('#draft-problems')).toContain('gate_type is not registered here')
    expect(await page.locator('text=Publish and activate…').count()).toBe(0)
    await page.fill(field, '{\n  "policy_id": "spending",\n  oops\n}')
    await page.waitForSelector('#draft-problems >> text=Line 3')
    await page.fill(field, '{"policy_id": "other"}')
    await page.waitForSelector('#draft-problems >> text=This is the draft of spending')
  })

  it('takes the same draft as YAML, names its problems by line, and keeps its comments', async () => {
    const yaml = 'textarea[aria-label="Policy as YAML"]'
    const scripts: string[] = []
    page.on('request', (request) => scripts.push(request.url()))
    const isLoaded = (): boolean => scripts.some((url) => url.includes('yaml-format'))
    await open('/operator/policies/spending/draft')
    await page.waitForSelector('[data-validation="valid"]')
    expect(isLoaded()).toBe(false)
    await click('.seg button:has-text("YAML")')
    await page.waitForSelector(yaml)
    expect(isLoaded()).toBe(true)
    const text = await page.inputValue(yaml)
    expect(text).toContain('policy_id: spending')
    const written = `# asked by finance\n${text.replace(/max: 1000\b/, 'max: 300')}`
    await page.fill(yaml, written)
    await page.waitForSelector('[data-validation="valid"]')
    await page.waitForSelector('[data-diff="+1 −1"] .gone:has-text("max: 1000")')
    await checkScreens(page, 'policy-draft-yaml')
    await page.fill(yaml, written.replace('max_value.v1', 'max_value.v9'))
    await page.waitForSelector('[data-validation="problems"]')
    const line = written.split('\n').findIndex((each) => each.includes('gate_id')) + 1
    await page.waitForSelector(`#draft-problems >> text=Line ${line}`)
    await page.fill(yaml, written.replace('max: 300', 'max: &high 300'))
    await page.waitForSelector('#draft-problems >> text=Anchors and aliases are not read')
    await page.fill(yaml, written)
    await page.waitForSelector('[data-validation="valid"]')
    await page.waitForSelector('text=Draft saved in this browser')
    await open('/operator/policies/spending/draft')
    await page.waitForSelector('[data-validation="valid"]')
    expect(await page.inputValue(yaml)).toBe(written)
    await click('.seg button:has-text("JSON")')
    expect(await page.inputValue(field)).toContain('"max": 300')
    await click('.strip button:has-text("Start from")')
    await page.waitForSelector('text=No changes')
    expect(checkedPage.trouble).toEqual([])
  })

  it('saves a draft in this browser until it is published', async () => {
    await open('/operator/policies/spending/draft')
    await edit((text) => text.replace(/"max": 1000\b/, '"max": 250'))
    await page.waitForSelector('text=Draft saved in this browser')
    await open('/operator/policies')
    await click('tbody a:has-text("draft")')
    await page.waitForSelector('[data-validation="valid"]')
    expect(await page.inputValue(field)).toContain('"max": 250')
    await click('text=Publish only…')
    await sign()
    await page.waitForSelector('.toast:has-text("is published")')
    await page.waitForSelector('text=No changes')
    await expectActive(2)
  })

  it('does not report an activation without response as failed, and signs only that one again', async () => {
    await open('/operator/policies/spending/draft')
    await edit((text) => text.replace(/"max": 1000\b/, '"max": 111'))
    await page.waitForSelector('[data-diff="+1 −1"]')
    await page.waitForSelector('[data-validation="valid"]')
    const targets: string[] = []
    await page.route(/[/]admin[/]boundary-policies(?:[/]spending[/]activate)?$/, async (route) => {
      targets.push(new URL(route.request().url()).pathname)
      if (targets.length !== 2) return route.continue()
      await route.fetch()
      return route.abort()
    })
    await click('text=Publish and activate…')
    await sign()
    await page.waitForSelector(
      '[data-outcome=unknown]:has-text("The first request succeeded and stays in effect. It is not certain whether the next one happened. No usable response came.")',
    )
    expect(await page.getAttribute('[data-outcome=unknown] a', 'href')).toBe('/operator/policies/spending')
    expect(await page.textContent('[data-drawer]')).not.toContain('failed')
    await sign()
    await page.waitForSelector('.toast:has-text("in force")')
    const [publish, activate] = ['/admin/boundary-policies', '/admin/boundary-policies/spending/activate']
    expect(targets).toEqual([publish, activate, activate])
    await setup().operator.boundaryPolicies.activate('spending', { version: 2 })
    await expectActive(2)
  })

  it('begins a new policy', async () => {
    await open('/operator/policies')
    await click('text=New policy')
    await edit((text) => text.replace('"policy_id": "spending"', '"policy_id": "berths"'))
    await page.waitForSelector('.hgroup:has-text("draft of version 1")')
    await click('text=Publish and activate…')
    await sign()
    await expect
      .poll(async () => (await activeVersions()).map(({ policy_id }) => policy_id), { timeout: 30_000 })
      .toEqual(['berths', 'spending'])
    await click('.toast >> text=Deactivate it')
    await expectActive(2)
  })
})

describe('the other policies of the network', () => {
  it('show the network policy with its history, publish a version and go back', async () => {
    await open('/operator/policies?tab=network')
    await page.waitForSelector('[data-record="network"]')
    await checkScreens(page, 'policies-network')
    const versions = (): Promise<number> => page.locator('[aria-label="History"] tbody tr').count()
    const before = await versions()
    await click('text=Publish…')
    const text = await page.inputValue('#field-record')
    await page.fill('#field-record', text.replace(/"allowed_ports": \[/, '"allowed_ports": [\n    8444,'))
    await page.waitForSelector('.effect >> text=8444,')
    await sign()
    await page.waitForSelector('.toast:has-text("is published")')
    await expect.poll(versions, { timeout: 30_000 }).toBe(before + 1)
    await click('.toast >> text=Back to the one before')
    await page.waitForSelector('.toast:has-text("is the active network policy again")')
    const { allowed_ports } = accepted(await send(setup().demo.url, 'GET', '/policy'))
    expect(allowed_ports).not.toContain(8444)
    expect(checkedPage.trouble).toEqual([])
  })

  it('offer the network policy for publication with its numbers as they were signed', async () => {
    await page.route(/[/]policy$/, async (route) => {
      const response = await route.fetch()
      const text = await response.text()
      await route.fulfill({ response, body: text.replace(/"max_hops":[0-9]+/, '"max_hops":6.0,"x":9007199254740993') })
    })
    await open('/operator/policies?tab=network')
    await page.waitForSelector('[data-record="network"] pre:has-text("6.0")')
    await click('text=Publish…')
    const text = await page.inputValue('#field-record')
    expect(text).toContain('"max_hops": 6.0')
    expect(text).toContain('"x": 9007199254740993')
    await page.unrouteAll({ behavior: 'wait' })
  })

  it.each(['recognition', 'data-licence'])('offer the publication of %s', async (tab) => {
    await open(`/operator/policies?tab=${tab}`)
    await click('text=Publish…')
    await page.waitForSelector('[data-drawer="publish"] .effect li')
    await page.fill('#field-record', '{')
    await page.waitForSelector('[data-drawer="publish"] [role=alert]:has-text("Line 1")')
    expect(await page.getAttribute('[data-sign]', 'aria-disabled')).toBe('true')
  })
})
