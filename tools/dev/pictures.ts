import type { Page } from 'playwright-core'

export interface Addresses {
  readonly authority: string
  readonly gateway: string
}

/** A page in a state. */
export interface Picture {
  readonly name: string
  readonly path: string
  readonly of?: 'gateway'
  /** False for the page that asks for the key. */
  readonly isSignedIn?: false
  /** Steps from the opened page to the state. */
  show?(page: Page): Promise<void>
  /** What is on the page when it is complete. */
  readonly ready?: string
  /** The height of a wide screen; 900 by default. */
  readonly height?: number
}

export const SCREENS = [
  { name: 'light', width: 1440, height: 900, colorScheme: 'light' },
  { name: 'dark', width: 1440, height: 900, colorScheme: 'dark' },
  { name: 'phone', width: 390, height: 844, colorScheme: 'light' },
] as const

/** The numbers of the designed pictures, so that both sort in the same order. */
const NUMBERS: Readonly<Record<string, string>> = {
  'overview-light': '01',
  'overview-dark': '02',
  'nodes-light': '03',
  'nodes-dark': '04',
  'invite-light': '05',
  'invited-dark': '06',
  'node-story-light': '07',
  'node-revoke-dark': '08',
  'agents-light': '09',
  'partners-dark': '10',
  'partner-light': '11',
  'partner-end-light': '12',
  'partner-renew-dark': '13',
  'policies-light': '14',
  'policy-editor-light': '15',
  'policy-editor-dark': '16',
  'policy-activate-light': '17',
  'policy-undo-light': '18',
  'decisions-light': '19',
  'decision-denied-light': '20',
  'decision-allowed-dark': '21',
  'evidence-light': '22',
  'evidence-entry-dark': '23',
  'audit-light': '24',
  'keys-light': '25',
  'help-dark': '26',
  'first-steps-light': '27',
  'unlock-light': '28',
  'palette-light': '29',
  'palette-dark': '30',
  'states-light': '31',
  'public-overview-light': '32',
  'connectome-dark': '33',
  'phone-overview-light': '40',
  'phone-nodes-light': '41',
  'phone-decision-denied-light': '42',
  'phone-partner-end-light': '43',
  'phone-evidence-light': '44',
  'phone-first-steps-light': '45',
}

export function fileName(name: string, screen: (typeof SCREENS)[number]['name']): string {
  const base = screen === 'phone' ? `phone-${name}-light` : `${name}-${screen}`
  const number = NUMBERS[base]
  return `${number === undefined ? '' : `${number}-`}${base}.png`
}

const SIGN = '[data-sign][aria-disabled=false]'
const EFFECTS = '[data-effects=ready]'
const ROW = 'tbody a.name'

const openFirst =
  (selector: string) =>
  async (page: Page): Promise<void> =>
    page.locator(selector).first().click()

/** The last ones change the demo. */
export const PICTURES: readonly Picture[] = [
  { name: 'overview', path: '/operator', ready: '.vital', height: 1060 },
  { name: 'nodes', path: '/operator/nodes', ready: ROW },
  { name: 'nodes-invites', path: '/operator/nodes?tab=invites' },
  { name: 'invite', path: '/operator/nodes?do=invite', ready: EFFECTS },
  { name: 'node-story', path: '/operator/nodes', show: openFirst(ROW), ready: '.timeline' },
  {
    name: 'node-revoke',
    path: '/operator/nodes',
    async show(page) {
      await openFirst(ROW)(page)
      await page.click('[data-revoke]')
    },
    ready: EFFECTS,
  },
  { name: 'agents', path: '/operator/agents' },
  { name: 'partners', path: '/operator/partners', ready: ROW },
  { name: 'treaties', path: '/operator/partners?tab=treaties', ready: ROW },
  { name: 'members', path: '/operator/partners?tab=members' },
  { name: 'withdrawn', path: '/operator/partners?tab=withdrawn' },
  { name: 'partner', path: '/operator/partners/FJORD-BANK', ready: '[data-if-ended=ready]', height: 1040 },
  { name: 'partner-end', path: '/operator/partners/FJORD-BANK?do=end', ready: EFFECTS, height: 980 },
  { name: 'partner-renew', path: '/operator/partners/FJORD-BANK?do=renew', ready: SIGN },
  { name: 'policies', path: '/operator/policies', ready: ROW },
  { name: 'policies-network', path: '/operator/policies?tab=network', ready: '[data-record]' },
  { name: 'policy', path: '/operator/policies/spending', ready: 'tbody tr' },
  {
    name: 'policy-editor',
    path: '/operator/policies/spending/draft',
    async show(page) {
      const field = 'textarea[aria-label="Policy as JSON"]'
      await page.waitForSelector('[data-validation=valid]')
      await page.fill(field, (await page.inputValue(field)).replace(/"max": 1000\b/, '"max": 100'))
      await page.waitForSelector('[data-diff="+1 −1"]')
      await page.waitForSelector('[data-validation=valid]')
      await page.click('.strip button:has-text("Replay")')
    },
    ready: '[data-replay]',
  },
  { name: 'policy-activate', path: '/operator/policies/spending?do=activate-1', ready: SIGN },
  { name: 'decisions', path: '/operator/decisions', ready: ROW },
  {
    name: 'decision-denied',
    path: '/operator/decisions?outcome=denied',
    show: openFirst(ROW),
    ready: '[data-checks=done]',
    height: 1200,
  },
  {
    name: 'decision-allowed',
    path: '/operator/decisions?outcome=authorized',
    show: openFirst(ROW),
    ready: '[data-checks=done]',
    height: 1180,
  },
  { name: 'evidence', path: '/operator/evidence', ready: ROW },
  { name: 'evidence-anchors', path: '/operator/evidence?view=anchors' },
  { name: 'evidence-retention', path: '/operator/evidence?view=retention' },
  { name: 'evidence-entry', path: '/operator/evidence?entry=1', ready: '[data-entry-checks=done]' },
  { name: 'audit', path: '/operator/audit', ready: 'tbody .name' },
  { name: 'keys', path: '/operator/keys', ready: '[data-key]' },
  { name: 'help', path: '/operator/help', ready: '.panel' },
  { name: 'first-steps', path: '/operator/start', ready: '[data-step=founded]', height: 960 },
  { name: 'unlock', path: '/operator', isSignedIn: false, ready: '#key-file' },
  {
    name: 'palette',
    path: '/operator/nodes',
    async show(page) {
      await page.waitForSelector(ROW)
      await page.keyboard.press('Control+k')
      await page.waitForSelector('.palette input:focus')
      await page.keyboard.type('pay')
    },
    ready: '.palette [role=option]:has-text("agent ·")',
  },
  { name: 'states', path: '/operator/nodes?q=no-such-node', ready: '.blank' },
  { name: 'nothing', path: '/operator/no-such-page', ready: '.blank' },
  { name: 'public-overview', path: '/', height: 760 },
  { name: 'connectome', path: '/connectome', height: 960 },
  { name: 'atlas', path: '/atlas' },
  { name: 'api-reference', path: '/api-reference' },
  { name: 'cli-reference', path: '/cli-reference' },
  { name: 'explorer', path: '/', of: 'gateway', ready: '[data-ready]' },
  { name: 'explorer-mesh', path: '/#/mesh', of: 'gateway' },
  { name: 'explorer-networks', path: '/#/networks', of: 'gateway' },
  { name: 'explorer-catalogue', path: '/#/explorer', of: 'gateway' },
  {
    name: 'invited',
    path: '/operator/nodes?do=invite',
    show: openFirst(SIGN),
    ready: '[data-token]',
  },
  { name: 'policy-undo', path: '/operator/policies/spending?do=activate-1', show: openFirst(SIGN), ready: '.toast' },
]
