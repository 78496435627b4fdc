import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CheckedPage, openPage, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import { useSetup } from './console-setup.ts'
import { signIn } from './operator-page.ts'

/** Holds: a policy is edited without typing JSON, problems are at their fields, and unknown members stay. */
const setup = useSetup(4)
const JSON_TEXT = 'textarea[aria-label="Policy as JSON"]'
let checkedPage: CheckedPage
let page: Page

const field = (place: string): string => `[data-field="${place}"]`
const problem = (place: string): string => `[data-problem="${place}"]`
const view = async (name: string): Promise<void> => {
  await page.click(`.seg button:has-text("${name}")`)
  await page.waitForSelector(`.seg button[aria-pressed=true]:has-text("${name}")`)
}
const draft = async (): Promise<Record<string, unknown>> => {
  await view('JSON')
  const text = await page.inputValue(JSON_TEXT)
  await view('Form')
  return JSON.parse(text) as Record<string, unknown>
}
const gates = async (): Promise<readonly Record<string, unknown>[]> =>
  (await draft())['gates'] as readonly Record<string, unknown>[]

beforeEach(async () => {
  const { browser, demo } = setup()
  checkedPage = await openPage(browser, demo.url)
  page = checkedPage.page
  await visit(checkedPage, `${demo.url}/operator/policies/spending/draft`)
  await signIn(page, demo.keyFile)
  await page.waitForSelector('[data-validation="valid"]')
})
afterEach(() => checkedPage.close())

describe('the form of a policy', () => {
  it('is loaded when it is chosen, edits a gate, and is published with its value', async () => {
    const scripts: string[] = []
    page.on('request', (request) => scripts.push(request.url()))
    const isLoaded = (): boolean => scripts.some((url) => url.includes('form-view'))
    expect(isLoaded()).toBe(false)
    await view('Form')
    expect(isLoaded()).toBe(true)
    expect(await page.inputValue(field('policy_id'))).toBe('spending')
    expect(await page.getAttribute(field('policy_id'), 'readonly')).not.toBe(null)
    await page.fill(field('gates[0].config.max'), '750')
    await page.waitForSelector('[data-diff="+1 −1"] .gone:has-text("1000")')
    await page.waitForSelector('[data-validation="valid"]')
    await checkScreens(page, 'policy-draft-form')
    await page.click('text=Publish only…')
    await page.waitForSelector('[data-sign][aria-disabled=false]')
    await page.click('[data-sign]')
    await page.waitForSelector('.toast:has-text("is published")')
    const { versions } = await setup().operator.boundaryPolicies.history('spending')
    expect(versions[0]?.policy?.gates[0]?.config).toMatchObject({ max: 750 })
    expect(checkedPage.trouble).toEqual([])
  })

  it('adds, moves and removes gates, with the fields of each type', async () => {
    await view('Form')
    await page.click('[data-add-gate]')
    await page.waitForSelector('[data-gate="1"] input:focus')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('currency')
    await page.selectOption(field('gates[1].gate_type'), 'allowlist.v1')
    await page.fill(field('gates[1].config.path'), 'request_parameters.currency')
    await page.fill(field('gates[1].config.values'), 'EUR\n"5"\n5\n')
    await page.waitForSelector('[data-validation="valid"]')
    expect((await gates())[1]).toMatchObject({
      gate_id: 'currency',
      order: 1,
      config: { path: 'request_parameters.currency', values: ['EUR', '5', 5] },
    })
    await page.click('[data-gate="1"] [data-move="-1"]')
    await page.waitForSelector('[data-gate="0"] legend:has-text("currency")')
    await page.waitForSelector('[data-gate="0"] [data-move="-1"]:focus')
    expect((await gates()).map(({ gate_id, order }) => [gate_id, order])).toEqual([
      ['currency', 0],
      ['amount', 1],
    ])
    await page.click('[data-add-gate]')
    await page.selectOption(field('gates[2].gate_type'), 'time_window.v1')
    await page.check(`${field('gates[2].config.weekdays')} >> text=Monday`)
    await page.fill(field('gates[2].config.utc_hour_start'), '7')
    await page.fill(field('gates[2].config.utc_hour_end'), '18')
    await page.selectOption(field('gates[2].mode'), 'observe')
    await page.waitForSelector('[data-validation="valid"]')
    expect((await gates())[2]).toMatchObject({
      mode: 'observe',
      config: { weekdays: [1], utc_hour_start: 7, utc_hour_end: 18 },
    })
    await checkScreens(page, 'policy-draft-form-gates')
    await page.click('[data-gate="0"] [data-remove]')
    await page.waitForSelector('[data-gate="0"] legend:has-text("amount")')
    expect((await gates()).map(({ gate_id }) => gate_id)).toEqual(['amount', 'gate-3'])
    expect(checkedPage.trouble).toEqual([])
  })

  it('has a choice of true and false, and returns the config of a type with the type', async () => {
    await view('Form')
    await page.selectOption(field('gates[0].gate_type'), 'boolean_required.v1')
    expect(await page.inputValue(field('gates[0].config.expected'))).toBe('true')
    await page.selectOption(field('gates[0].config.expected'), { label: 'must be false' })
    await page.selectOption(field('gates[0].gate_type'), 'max_value.v1')
    await expect.poll(() => page.inputValue(field('gates[0].config.max'))).toBe('1000')
    await page.selectOption(field('gates[0].gate_type'), 'boolean_required.v1')
    await expect.poll(() => page.inputValue(field('gates[0].config.expected'))).toBe('false')
    await page.waitForSelector('[data-validation="valid"]')
    expect((await gates())[0]?.['config']).toEqual({ path: 'request_parameters.amount', expected: false })
  })

  it('shows each problem at its field, and offers no publication', async () => {
    await view('Form')
    await page.fill(field('gates[0].config.max'), 'a thousand')
    await page.waitForSelector(`${problem('gates[0].config.max')}:has-text("Write a number")`)
    await page.waitForSelector(`${problem('gates[0].config.max')}:has-text("config.max")`)
    expect(await page.getAttribute(field('gates[0].config.max'), 'aria-invalid')).toBe('true')
    expect(await page.locator('text=Publish and activate…').count()).toBe(0)
    await page.fill(field('gates[0].config.max'), '1000')
    await page.fill(field('gates[0].gate_id'), 'Not An Id')
    await page.waitForSelector(`${problem('gates[0].gate_id')}:has-text("1 to 64 characters")`)
    await checkScreens(page, 'policy-draft-form-problems')
    await page.fill(field('gates[0].gate_id'), 'amount')
    await page.fill(field('selector.capabilities'), 'pay*')
    await page.waitForSelector(`${problem('selector.capabilities')}:has-text("capabilities")`)
    await page.fill(field('selector.capabilities'), '')
    await page.fill(field('valid_until'), 'later')
    await page.waitForSelector(problem('valid_until'))
    expect(checkedPage.trouble.filter((each) => !each.includes('status of 4'))).toEqual([])
  })

  it('keeps members that it does not know, and the type of each number', async () => {
    const text = await page.inputValue(JSON_TEXT)
    const changed = text
      .replace('"description"', '"x_ticket": { "id": 7 },\n  "description"')
      .replace('"max": 1000', '"max": 1000.0,\n        "x_unit": "EUR"')
    await page.fill(JSON_TEXT, changed)
    await view('Form')
    await page.waitForSelector('[data-others=""]:has-text("x_ticket")')
    await page.waitForSelector('[data-others="gates[0].config"]:has-text("x_unit")')
    expect(await page.inputValue(field('gates[0].config.max'))).toBe('1000.0')
    await page.fill(field('description'), 'Changed in the form')
    await view('JSON')
    const after = await page.inputValue(JSON_TEXT)
    for (const part of ['"x_ticket"', '"id": 7', '"x_unit": "EUR"', '"max": 1000.0', 'Changed in the form'])
      expect(after).toContain(part)
    await view('Form')
    await page.click('[aria-label="Remove the member x_ticket"]')
    await page.click('[aria-label="Remove the member x_unit"]')
    await page.waitForSelector('[data-validation="valid"]')
  })

  it('selects requests by values of their facts', async () => {
    await view('Form')
    await page.click('text=Add a fact')
    await page.fill('#form-parameter-0', 'request_parameters.currency')
    // The name is applied when the field is left.
    await page.keyboard.press('Tab')
    await page.fill(field('selector.parameter_equals.request_parameters.currency'), 'EUR\nCHF')
    await page.waitForSelector('[data-validation="valid"]')
    expect((await draft())['selector']).toMatchObject({
      parameter_equals: { 'request_parameters.currency': ['EUR', 'CHF'] },
    })
    await page.fill(field('selector.parameter_equals.request_parameters.currency'), 'EUR\n1e999')
    await page.waitForSelector('[data-loose]:has-text("Line 2 is a text. Write it in quotes")')
    await page.fill(field('selector.parameter_equals.request_parameters.currency'), 'EUR\n"1e999"')
    await page.waitForSelector('[data-loose]', { state: 'detached' })
  })

  it('removes the fact that was renamed, not the one that its name would be sorted to', async () => {
    await view('Form')
    await page.click('text=Add a fact')
    await page.fill('#form-parameter-0', 'request_parameters.currency')
    await page.keyboard.press('Tab')
    await page.fill(field('selector.parameter_equals.request_parameters.currency'), 'EUR')
    await page.click('text=Add a fact')
    await page.fill(field('selector.parameter_equals.request_parameters.name'), '5')
    await page.fill('#form-parameter-1', 'request_parameters.amount')
    // From the name to the values, which applies the name, and to the button of the same row.
    await page.keyboard.press('Tab')
    await page.waitForSelector(`${field('selector.parameter_equals.request_parameters.amount')}:focus`)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[data-parameters="1"]')
    expect(await page.inputValue('#form-parameter-0')).toBe('request_parameters.currency')
  })
})
