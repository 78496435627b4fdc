import { readFile } from 'node:fs/promises'
import type { JsonObject } from '@chancery/protocol'
import { accepted, newNodeCaller } from '@chancery/testkit'
import { expect } from 'vitest'
import type { JourneySetup } from './journey-setup.ts'
import { verifyFile } from './verify-file.ts'
import type { Walk } from './walk.ts'

export interface Journey {
  readonly name: string
  /** The layout differs most here: every screen walks it before a merge. */
  readonly isOnEveryScreen?: true
  walk(walk: Walk, setup: JourneySetup): Promise<void>
}

const TEXT = 'textarea[aria-label="Policy as JSON"]'

/** Signs the invite, saves the file, and lets a node join with its token. */
async function handOver(walk: Walk, { na }: JourneySetup): Promise<void> {
  await walk.sign()
  const file = await walk.save('[data-drawer=invited] button:has-text(".invite.json")')
  const { token } = JSON.parse(await readFile(file, 'utf8')) as { token: string }
  const node = await newNodeCaller(na.url, 'journey', na.core.clock)
  accepted(await node.join(token), 201)
  await walk.sees('[data-drawer=invited] >> text=A node has joined.')
  await walk.click('[data-drawer=invited] >> text=Done')
}

const activeVersions = async ({ na }: JourneySetup): Promise<readonly unknown[]> => {
  const { boundary_policies } = accepted(await na.request('GET', '/dashboard.json'))
  return (boundary_policies as { active: readonly JsonObject[] }).active.map(({ version }) => version)
}

/** In an empty network. */
export const firstRun: Journey = {
  name: 'first run',
  async walk(walk, setup) {
    await walk.sees('[data-step=signed-in][data-done=yes]')
    await walk.click('[data-step=root-key] >> text=It is offline')
    await walk.click('[data-step=invite] >> text=Invite a node…')
    await handOver(walk, setup)
    await walk.open('/operator')
    await walk.click('[data-check=first-steps] >> text=Continue')
    for (const step of ['root-key', 'invite', 'join']) await walk.sees(`[data-step=${step}][data-done=yes]`)
  },
}

/** In a network in use. Later ones change what earlier ones left. */
export const JOURNEYS: readonly Journey[] = [
  {
    name: 'invite and join',
    isOnEveryScreen: true,
    async walk(walk, setup) {
      await walk.open('/operator/nodes')
      await walk.click('.bar >> text=Invite a node')
      await walk.type('#field-label', 'Hamburg 1')
      await handOver(walk, setup)
      await walk.sees('tbody >> text=Hamburg 1')
    },
  },
  {
    name: 'find a silent node',
    async walk(walk) {
      await walk.open('/operator/nodes')
      await walk.click('.tabs >> text=Silent')
      await walk.sees('tbody tr:only-child')
      await walk.click('td >> text=Berlin 3')
      await walk.sees('.timeline >> text=Silent')
    },
  },
  {
    name: 'revoke it with siblings',
    isOnEveryScreen: true,
    async walk(walk, { na, silent }) {
      await walk.click('[data-check=nodes-silent] >> text=Look')
      await walk.click('td >> text=Berlin 3')
      await walk.click('[data-revoke]')
      await walk.sees('[data-effects=ready] >> text=2 certificates end')
      await walk.type('#typed-confirmation', 'Berlin 3')
      await walk.sign()
      await walk.sees('.timeline >> text=Revoked')
      const { revoked_certificates: revoked } = accepted(await na.request('GET', '/crl'))
      const ids = (revoked as readonly JsonObject[]).map(({ certificate_id }) => certificate_id)
      expect(ids).toEqual(expect.arrayContaining(silent))
    },
  },
  {
    name: 'renew a treaty',
    async walk(walk, { na }) {
      await walk.click('[data-check=treaty] >> text=Renew…')
      await walk.sees('[data-drawer=renew]')
      await walk.sign()
      await walk.sees('.hero:has-text("In order")')
      const { recognition_treaties: rows } = accepted(await na.request('GET', '/recognition-treaties'))
      const states = (rows as readonly { lifecycle: JsonObject }[]).map(({ lifecycle }) => lifecycle['state'])
      expect(new Set(states)).toEqual(new Set(['active', 'replaced']))
    },
  },
  {
    name: 'add a partner',
    async walk(walk, { na, stub }) {
      await walk.open('/operator/partners')
      await walk.click('.bar >> text=Add a partner')
      await walk.type('#field-url', stub.url)
      await walk.type('#field-given', stub.root.publicKey)
      await walk.click('#field-allow_http >> text="http"')
      await walk.sign()
      await walk.sees('.toast >> text=Added FJORD-BANK.')
      await walk.sees('a.name:has-text("FJORD-BANK")')
      accepted(await na.as('privileged')('GET', '/admin/partners/FJORD-BANK'))
    },
  },
  {
    name: 'open a denied decision and say why',
    isOnEveryScreen: true,
    async walk(walk) {
      await walk.open('/operator/decisions')
      await walk.click('.tabs a:has-text("Denied")')
      await walk.sees('.pager:has-text("1 to 2")')
      await walk.click('tbody tr:has-text("captain-4") a.name')
      await walk.sees('[data-story]')
      expect(await walk.page.textContent('[data-story]')).toBe(
        'captain-4 asked for pay.invoice with amount = 1500. The attestation grants it, but policy spending version 2 allows amount up to 1000.',
      )
    },
  },
  {
    name: 'test, diff and activate a policy',
    async walk(walk, setup) {
      await walk.open('/operator/policies')
      await walk.click('a.name:has-text("spending")')
      await walk.click('.bar >> text=Draft version 3…')
      await walk.sees('[data-validation=valid]')
      const text = await walk.page.inputValue(TEXT)
      await walk.type(TEXT, text.replace(/"max": 1000\b/, '"max": 100'))
      await walk.sees('[data-diff="+1 −1"] .gone:has-text("1000")')
      await walk.sees('[data-validation=valid]')
      await walk.click('.strip button:has-text("Replay")')
      // Asked were 120, 480, 990, 1500, 75 and 4000. The first three become denied.
      await walk.sees('[data-replay="3/0/3"]')
      await walk.click('text=Publish and activate…')
      await walk.sees('.effect >> text=3 past requests would be newly denied')
      await walk.sign()
      await expect.poll(() => activeVersions(setup)).toEqual([3])
    },
  },
  {
    name: 'roll it back',
    async walk(walk, setup) {
      await walk.open('/operator/policies')
      await walk.click('a.name:has-text("spending")')
      await walk.click('a[aria-label="Activate 2…"]')
      await walk.sees('.effect >> text=3 past requests would be newly allowed')
      await walk.sign()
      await expect.poll(() => activeVersions(setup)).toEqual([2])
    },
  },
  {
    name: 'verify and export a decision as one file',
    async walk(walk, { na }) {
      await walk.open('/operator/decisions')
      await walk.click('tbody tr:has-text("captain-4") a.name')
      await walk.sees('[data-checks=done]')
      const file = await walk.save('text=Export as one file')
      const decision_id = new URL(walk.page.url()).pathname.split('/').at(-1)
      expect(await verifyFile(file, na.genesis)).toMatchObject({ kind: 'evidence-pack', valid: true, decision_id })
    },
  },
  {
    name: 'find an agent by capability',
    async walk(walk) {
      await walk.open('/operator/agents')
      await walk.click('[data-capability="pay.invoice"]')
      await walk.sees('tbody tr:only-child')
      await walk.click('td >> text=payer')
      await walk.sees('h1 >> text=payer')
      await walk.sees('text=Verified here')
    },
  },
  {
    name: 'revoke an operator key',
    async walk(walk, { na }) {
      await walk.open('/operator/keys')
      await walk.click('[data-key=op-standard] >> text=Revoke…')
      await walk.sees('[data-effects=ready] >> text=remain')
      await walk.type('#typed-confirmation', 'op-standard')
      await walk.sign()
      await walk.sees('[data-key=op-standard] >> text=Revoked')
      expect((await na.as('standard')('GET', '/admin/whoami')).status).toBe(401)
    },
  },
]
