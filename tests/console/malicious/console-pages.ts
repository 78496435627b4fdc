import type { JsonObject } from '@chancery/protocol'
import { accepted } from '@chancery/testkit'
import type { Page } from 'playwright-core'
import { PAGES } from '../../../apps/console/src/operator/pages.ts'
import { type CheckedPage, nextFrames, visit as load } from '../browser.ts'
import { signIn } from '../operator-page.ts'
import { type Extent, type Visit, attempt, checkPage, closeChecked, openMaliciousPage } from './check-page.ts'
import { part } from './requests.ts'
import { AT_ONCE, type MaliciousSetup } from './setup.ts'
import { END_OF_TEXT } from './texts.ts'

/** Pages that the authority renders. */
const PUBLIC = ['/', '/connectome', '/atlas', '/api-reference', '/cli-reference']

/** Lists, and drawers that need nothing chosen first. The addresses of single records come from what was stored. */
const LISTS = [
  '/operator',
  '/operator?all=yes',
  '/operator?open=treaty-end',
  '/operator/start',
  '/operator/nodes',
  '/operator/nodes?do=invite',
  '/operator/nodes?tab=invites&do=withdraw&invite_id=0123456789abcdef',
  '/operator/agents',
  '/operator/partners',
  '/operator/partners?do=recognise',
  '/operator/partners?do=add',
  '/operator/partners?tab=treaties',
  '/operator/partners?tab=members',
  '/operator/partners?tab=members&do=attest',
  '/operator/policies',
  '/operator/policies/~new/draft',
  '/operator/decisions',
  '/operator/decisions?do=decide',
  '/operator/evidence',
  '/operator/evidence?do=anchor',
  '/operator/evidence?view=keys&do=register',
  '/operator/audit',
]

/** Views that have no text of another party. They are opened, and need not show one. */
const WITHOUT_TEXTS = [
  '/operator/evidence?view=anchors',
  '/operator/evidence?view=retention',
  '/operator/evidence?view=retention&do=retention&date=2026-01-02',
]

const UNLOCK = 'unlock'
const OTHER_NETWORK = 'unlock, another network'
const PALETTE = 'palette'
const MESSAGE = 'message'

/** What must have shown a text at the end: every page of the console, and what is not a page. */
export const consoleKinds = (extent: Extent): readonly string[] => [
  ...PAGES.map(({ path }) => path),
  ...chosen([...PUBLIC, ...LISTS], extent).map(kindOf),
  UNLOCK,
  OTHER_NETWORK,
  PALETTE,
  MESSAGE,
]

/** The page of an address without its ids, with what it opens: `/operator/nodes/{key}?do=label`. */
function kindOf(address: string): string {
  const [path = '', query = ''] = address.split('?')
  const entry = PAGES.find((page) => new RegExp(`^${page.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  const opened = [...new URLSearchParams(query)].flatMap(([name, value]) => {
    if (name === 'do') return [`do=${value.split('-')[0] ?? ''}`]
    return name === 'tab' || name === 'view' ? [`${name}=${value}`] : [name]
  })
  return (entry?.path ?? path) + (opened.length === 0 ? '' : `?${opened.join('&')}`)
}

/** The addresses to open: all of them, or one of each page, without a tab, a filter or a drawer. */
function chosen(addresses: readonly string[], extent: Extent): readonly string[] {
  if (extent === 'all') return addresses
  const plain = addresses.filter((address) => !address.includes('?'))
  return [...new Map(plain.map((address) => [kindOf(address), address])).values()]
}

/** Opens every page of the authority, and the given addresses. Signs in once. */
export async function visitConsole(setup: MaliciousSetup, stored: readonly string[], visit: Visit): Promise<void> {
  const checkedPage = await openMaliciousPage(setup, setup.na.url)
  const { page } = checkedPage
  for (const address of PUBLIC)
    await attempt(address, visit, async () => {
      await load(checkedPage, setup.na.url + address)
      await checkPage(checkedPage, address, address, visit)
    })
  await page.evaluate(`localStorage.setItem('chancery.rows', '${AT_ONCE}')`)
  await load(checkedPage, `${setup.na.url}/operator/help`)
  await page.waitForSelector('#key-file')
  await checkPage(checkedPage, UNLOCK, UNLOCK, visit)
  await signIn(page, setup.keyFile)
  await page.waitForSelector('.keychip', { state: 'attached' })
  const addresses = [...LISTS, ...WITHOUT_TEXTS, ...stored, ...(await newestAddresses(setup))]
  for (const address of chosen(addresses, visit.extent))
    await attempt(address, visit, async () => {
      await open(page, address, setup.short)
      await checkPage(checkedPage, address, kindOf(address), visit)
    })
  await attempt(PALETTE, visit, () => checkPalette(checkedPage, setup, visit))
  await attempt(MESSAGE, visit, () => checkMessage(checkedPage, setup, stored, visit))
  await attempt(OTHER_NETWORK, visit, () => checkOtherNetwork(checkedPage, setup, visit))
  await closeChecked(checkedPage, visit)
}

/** The newest audit event and the newest entry with a text. The event is among the newest, so that its list has it. */
async function newestAddresses({ na }: MaliciousSetup): Promise<readonly string[]> {
  const hasText = (row: JsonObject): boolean => new RegExp(END_OF_TEXT).test(JSON.stringify(row))
  const read = async (path: string, list: string): Promise<JsonObject | undefined> =>
    (accepted(await na.as('standard')('GET', path))[list] as readonly JsonObject[]).find(hasText)
  const event = await read('/admin/audit?limit=20', 'events')
  const entry = await read('/admin/evidence?order=newest&limit=20', 'entries')
  const { store_sequence } = (entry?.['entry'] ?? {}) as JsonObject
  return [
    `/operator/audit?open=${part(event?.['event_id'])}`,
    `/operator/evidence?entry=${part(store_sequence)}`,
    '/operator/evidence?entry_kind=execution',
  ]
}

/** Opens an address in the open console, without loading the document again: the key stays. */
async function open(page: Page, address: string, typed: string): Promise<void> {
  await page.evaluate(
    `history.pushState({}, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await nextFrames(page)
  await page.waitForSelector('main :is(tbody tr, .panel:not(.choices), .blank, .headline, .editor, .todo)')
  await page.waitForSelector('main :is([aria-busy=true], .bone):not(.effect, .effect *)', { state: 'detached' })
  if (/[?&](?:do|open|entry)=/.test(address)) await fillDrawer(page, typed)
}

/** Types the text into each empty field and each reason, and waits for the effect or for what prevents it. */
async function fillDrawer(page: Page, typed: string): Promise<void> {
  await page.waitForSelector('dialog.drawer[open]')
  await page.evaluate(`for (const field of document.querySelectorAll('dialog :is(input, textarea)[id^="field-"]'))
    if (field.id === 'field-reason' || field.value === '') {
      field.value = ${JSON.stringify(typed)}
      field.dispatchEvent(new Event('input', { bubbles: true }))
    }`)
  await nextFrames(page)
  await page.waitForSelector('dialog :is([data-effects=ready], [role=alert]), dialog.reading')
}

async function checkPalette(checkedPage: CheckedPage, { short }: MaliciousSetup, visit: Visit): Promise<void> {
  const { page } = checkedPage
  await open(page, '/operator/help', short)
  await page.keyboard.press('Control+k')
  await page.fill('dialog.palette input', short)
  await page.waitForSelector('dialog.palette [role=option]:has-text("Nodes that begin with")')
  await checkPage(checkedPage, PALETTE, PALETTE, visit)
  await page.keyboard.press('Escape')
}

/** Signs an action, whose message has the text, and opens the list of messages. */
async function checkMessage(
  checkedPage: CheckedPage,
  { short }: MaliciousSetup,
  stored: readonly string[],
  visit: Visit,
): Promise<void> {
  const { page } = checkedPage
  await open(page, stored.find((address) => address.endsWith('?do=label')) ?? '', short)
  await page.fill('#field-label', short)
  await page.waitForSelector('[data-sign][aria-disabled=false]')
  await page.click('[data-sign]')
  await page.waitForSelector('.toast')
  await checkPage(checkedPage, MESSAGE, MESSAGE, visit)
  await open(page, '/operator/help', short)
  await checkPage(checkedPage, '/operator/help', '/operator/help', visit)
}

/** The browser has stored another network with a malicious name. */
async function checkOtherNetwork(checkedPage: CheckedPage, setup: MaliciousSetup, visit: Visit): Promise<void> {
  const { page } = checkedPage
  const pin = { network: setup.partner.name, fingerprint: setup.short, rootKey: '', authorityKey: '' }
  await page.evaluate(`localStorage.setItem('chancery.pin', ${JSON.stringify(JSON.stringify(pin))})`)
  await load(checkedPage, `${setup.na.url}/operator`)
  await page.waitForSelector('[data-pin=changed]')
  await checkPage(checkedPage, OTHER_NETWORK, OTHER_NETWORK, visit)
}
