import { canonicalJson, fromBase64, readJson, sha256Hex, verifyOperatorRequest, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, foreignSovereign, testSigner } from '@chancery/testkit'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StubPartner } from '../../apps/authority/src/features/partners/stub-partner.suite.ts'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'
import { axeFindings } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import type { ConsolePage, FrameSetup } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'

let setup: FrameSetup
let stub: StubPartner
let own: ConsolePage
let page: Page
/** A network that is not added as a partner is a 404 of its route, which the browser reports. */
const trouble = (): readonly string[] => own.trouble.filter((each) => !each.includes('status of 404'))
const admin = async (target: string, body: JsonObject, status = 201): Promise<JsonObject> =>
  accepted(await setup.na.as('privileged')('POST', target, body), status)
const read = async (target: string): Promise<JsonObject> => accepted(await setup.na.request('GET', target))

async function signTreaty(name: string, key = foreignSovereign(name).publicKey, hours = 48): Promise<string> {
  const treaty = await admin('/admin/recognition-treaties', {
    subject_sovereign_id: name,
    subject_public_keys: [key],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
    validity_hours: hours,
  })
  return String(treaty['treaty_id'])
}

/** Presses the gold button. The sent request must be the shown one, and signed over the shown bytes. */
async function sign(path: string): Promise<JsonObject> {
  await page.waitForSelector('[data-sign][aria-disabled="false"]')
  const shown = readJson((await page.locator('[data-signed] pre').textContent()) ?? '') as JsonObject
  const [request] = await Promise.all([
    page.waitForRequest(
      (each) => each.method() === 'POST' && decodeURIComponent(new URL(each.url()).pathname) === path,
    ),
    page.click('[data-sign]'),
  ])
  const { v: _version, ...covered } = shown
  expect(shown['path']).toBe(path)
  expect(request.postData()).toBe(canonicalJson(shown['body'] ?? {}))
  const isSigned = await verifyOperatorRequest(
    covered as unknown as Parameters<typeof verifyOperatorRequest>[0],
    (await request.allHeaders())['x-admin-signature'] ?? '',
    (await testSigner('op', 'op-privileged')).publicKey,
  )
  expect(isSigned).toBe(true)
  await page.waitForSelector('[data-drawer]', { state: 'detached' })
  return shown['body'] as JsonObject
}

describe('partners', () => {
  useFrame(
    (opened, shared) => {
      setup = shared
      own = opened
      page = opened.page
    },
    { NA_PARTNER_ADDRESSES: 'loopback' },
  )
  beforeAll(async () => {
    stub = await new StubPartner('FJORD-BANK', () => systemClock.now()).listen()
  })
  afterAll(() => stub.stop())

  it('adds a partner with its fingerprint, which the authority then reads', async () => {
    await own.unlock('/operator/partners')
    await page.click('text=Add a partner')
    await page.fill('#field-url', stub.url)
    await page.fill('#field-given', foreignSovereign('OTHER').publicKey)
    await page.click('#field-allow_http >> text="http"')
    // The key of another network is refused by the authority, and nothing is added.
    await page.waitForSelector('[data-sign][aria-disabled="false"]')
    await page.click('[data-sign]')
    await page.waitForSelector('[data-code="partner_mismatch"]')
    await page.fill('#field-given', sha256Hex(fromBase64(stub.root.publicKey) ?? new Uint8Array()))
    await page.waitForSelector('[role=alert]:has-text("With a fingerprint, add the genesis block")')
    await page.fill('#field-genesis', writeJson(stub.genesis()))
    await page.waitForSelector(`[data-effects="ready"]:has-text("${stub.root.publicKey}")`)
    expect(await axeFindings(page)).toEqual([])
    expect(await sign('/admin/partners')).toMatchObject({ root_public_key: stub.root.publicKey, allow_http: true })
    await page.click('a.name:has-text("FJORD-BANK")')
    await page.waitForSelector('h1:has-text("FJORD-BANK")')
    await page.click('text=Read now…')
    await sign('/admin/partners/FJORD-BANK/pull')
    await page.waitForSelector('text=read on time')
    // The refused request is reported by the browser; nothing else is.
    expect(trouble().filter((each) => !/status of 4(?:09|22)/.test(each))).toEqual([])
  })

  it('stops when the genesis block is not that of the given key, and recognises with the right one', async () => {
    await own.unlock('/operator/partners')
    await page.click('text=Recognise a partner')
    await page.fill('#field-genesis', writeJson(stub.genesis()))
    await page.fill('#field-given', foreignSovereign('OTHER').publicKey)
    await page.waitForSelector('[role=alert]:has-text("Stop: the key you were given is not the root key")')
    expect(await page.getAttribute('[data-sign]', 'aria-disabled')).toBe('true')
    await page.fill('#field-genesis', writeJson({ ...stub.genesis(), network_name: 'EVIL' }))
    await page.fill('#field-given', stub.root.publicKey)
    await page.waitForSelector('[role=alert]:has-text("Stop: the root key did not sign this genesis block")')
    await page.fill('#field-genesis', writeJson(stub.genesis()))
    await page.waitForSelector('text=The key you were given is the key that signed this genesis block')
    await page.click('text=7 days')
    await page.waitForSelector('[data-signed] pre:has-text("168")', { state: 'attached' })
    expect(await sign('/admin/recognition-treaties')).toMatchObject({
      subject_sovereign_id: 'FJORD-BANK',
      subject_public_keys: [stub.key.publicKey],
      validity_hours: 168,
    })
    expect(trouble()).toEqual([])
  })

  it('renews a treaty in at most 8 clicks from the overview', async () => {
    const old = await signTreaty('OSPREY-GRID')
    await own.unlock('/operator')
    let clicks = 0
    const click = async (selector: string): Promise<void> => {
      clicks += 1
      await page.click(selector)
    }
    await click('.side a[href="/operator/partners"]')
    await click('a.name:has-text("OSPREY-GRID")')
    await click('text=Renew…')
    clicks += 1
    await sign(`/admin/recognition-treaties/${old}/renew`)
    expect(clicks).toBeLessThanOrEqual(8)
    expect(await read(`/recognition-treaties/${old}`)).toMatchObject({ lifecycle: { state: 'replaced' } })
    await page.waitForSelector('.hero:has-text("In order")')
    expect(await page.textContent('.panel:has(h2:text-is("We recognise them"))')).toContain('verified here')
    expect(trouble()).toEqual([])
  })

  it('ends a treaty only with the typed name, after showing what is lost', async () => {
    const id = await signTreaty('OLD-LIGHTHOUSE')
    await own.unlock(`/operator/treaties/${id}`)
    await page.waitForSelector('h1:has-text("OLD-LIGHTHOUSE")')
    await page.waitForSelector('[data-if-ended="ready"]:has-text("1 trust path is lost")')
    await page.click('text=End…')
    await page.waitForSelector('[data-effects="ready"]:has-text("TEST-NET → OLD-LIGHTHOUSE")')
    await page.fill('#typed-confirmation', 'OLD-LIGHTHOUS')
    expect(await page.getAttribute('[data-sign]', 'aria-disabled')).toBe('true')
    await checkScreens(page, 'partner-end')
    await page.fill('#typed-confirmation', 'OLD-LIGHTHOUSE')
    expect(await sign(`/admin/recognition-treaties/${id}/revoke`)).toEqual({ reason: 'relationship_ended' })
    expect(await read(`/recognition-treaties/${id}`)).toMatchObject({ status: 'revoked' })
    await page.waitForSelector('.hero:has-text("Ended")')
    expect(trouble()).toEqual([])
  })

  it('replaces a treaty with other roles', async () => {
    const id = await signTreaty('MERIDIAN')
    await own.unlock('/operator/partners/MERIDIAN?do=replace')
    await page.fill('#field-roles', 'role:service')
    await page.waitForSelector('text=The role role:client is no longer accepted')
    expect(await sign(`/admin/recognition-treaties/${id}/renew`)).toMatchObject({
      scope: { allowed_roles: ['role:service'] },
    })
    expect(await read(`/recognition-treaties/${id}`)).toMatchObject({
      revocation_reason: expect.stringMatching(/^replaced_by:/),
    })
  })

  it('imports a feed from a file', async () => {
    const feed = writeJson(stub.feed(7, ['left-1', 'left-2']))
    await own.unlock('/operator/partners/FJORD-BANK?do=import')
    await page.waitForSelector('[data-file="feed"]')
    await page.setInputFiles('[data-file="feed"]', {
      name: 'feed.json',
      mimeType: 'application/json',
      buffer: Buffer.from(feed),
    })
    await page.waitForSelector('[data-effects="ready"]:has-text("Sequence 7, 2 withdrawn members")')
    await sign('/admin/sovereign-revocation-feeds/import')
    await page.click('.crumbs a')
    await page.click('.tabs >> text=Withdrawn by others')
    await page.waitForSelector('td:has-text("left-1")')
  })

  it('attests a member, then withdraws it', async () => {
    await own.unlock('/operator/partners?tab=members')
    await page.click('.bar >> text=Attest a member')
    await page.fill('#field-subject_id', 'captain-4')
    await sign('/admin/attestations')
    await page.click('a.name:has-text("captain-4")')
    await page.waitForSelector('text=verified here')
    await checkScreens(page, 'attestation')
    await page.click('text=Withdraw…')
    await page.waitForSelector('[data-effects="ready"]:has-text("The attestation ends now")')
    await page.fill('#typed-confirmation', 'captain-4')
    const id = page.url().split('/').at(-1)?.split('?')[0] ?? ''
    await sign(`/admin/attestations/${id}/revoke`)
    await page.waitForSelector('.hero:has-text("Withdrawn")')
    expect(await read(`/attestations/${id}`)).toMatchObject({ status: 'revoked' })
    expect(trouble()).toEqual([])
  })

  it('shows an alarm, and clears it', async () => {
    const other = await new StubPartner('TWO-FACES', () => setup.na.core.clock.now()).listen()
    other.show('/sovereign-revocation-feed', other.feed(5, ['a']))
    await admin('/admin/partners', {
      url: other.url,
      root_public_key: other.root.publicKey,
      allow_http: true,
      import_feeds: 'on',
    })
    await admin('/admin/partners/TWO-FACES/pull', {}, 200)
    // An operator may pull once in 10 seconds.
    await rowsOf(setup.na.core.database).updateTable('partners').set({ asked_at: null }).execute()
    other.show('/sovereign-revocation-feed', other.feed(5, ['b']))
    await own.unlock('/operator/partners/TWO-FACES?do=pull')
    await sign('/admin/partners/TWO-FACES/pull')
    await page.waitForSelector('[data-alarm="equivocation"]')
    await page.click('[data-alarm] >> text=Clear…')
    await page.fill('#field-reason', 'asked them by telephone')
    await sign('/admin/partners/TWO-FACES/clear-alarm')
    await page.waitForSelector('[data-alarm]', { state: 'detached' })
    await other.stop()
  })

  it('adds a partner by its authority keys, pins its root key, and removes it', async () => {
    const other = await new StubPartner('FAR-NET', () => setup.na.core.clock.now()).listen()
    await signTreaty('FAR-NET', other.key.publicKey)
    await own.unlock('/operator/partners?do=add')
    await page.click('#field-how >> text=Its authority keys')
    await page.fill('#field-keys', other.key.publicKey)
    await page.fill('#field-url', other.url)
    await page.click('#field-allow_http >> text="http"')
    expect(await sign('/admin/partners')).toMatchObject({ authority_public_keys: [other.key.publicKey] })
    await page.click('a.name:has-text("FAR-NET")')
    await page.click('text=Pin other keys…')
    await page.fill('#field-keys', other.root.publicKey)
    await page.fill('#field-reason', 'its root key is known now')
    // An edit removes the confirmation, so it is typed after the effect is shown.
    await page.waitForSelector('[data-effects="ready"]')
    await page.fill('#typed-confirmation', 'FAR-NET')
    expect(await sign('/admin/partners/FAR-NET/repin')).toMatchObject({ root_public_key: other.root.publicKey })
    await other.stop()
    await page.waitForSelector('dd:has-text("its root key")')
    await page.click('.panel >> text=Remove…')
    await page.waitForSelector('[data-effects="ready"]:has-text("Its members stay accepted: end the treaty too")')
    expect(await axeFindings(page)).toEqual([])
    await page.fill('#typed-confirmation', 'FAR-NET')
    await sign('/admin/partners/FAR-NET/remove')
    await page.waitForSelector('text=The authority does not read FAR-NET.')
    expect(trouble()).toEqual([])
  })

  it('lists partners by urgency, with filters in the address and no finding', async () => {
    await signTreaty('HURRY', undefined, 5)
    const gone = await signTreaty('GONE')
    await admin(`/admin/recognition-treaties/${gone}/revoke`, {}, 200)
    await own.unlock('/operator/partners')
    await page.waitForSelector('td:has-text("HURRY")')
    expect(await page.locator('tbody tr').first().textContent()).toContain('HURRY')
    await checkScreens(page, 'partners')
    await page.click('summary:has-text("State")')
    await page.click('text=Ended or no treaty')
    await page.waitForSelector('tbody tr:has-text("GONE")')
    await page.waitForSelector('tbody tr:has-text("HURRY")', { state: 'detached' })
    expect(page.url()).toContain('state=ended')
    await page.click('.tabs >> text=Treaties')
    await page.waitForSelector('tbody tr:has-text("Replaced")')
    await checkScreens(page, 'treaties')
    await page.click('a.name:has-text("HURRY")')
    await page.waitForSelector('[data-if-ended="ready"]')
    await checkScreens(page, 'partner')
    await page.click('text=Renew…')
    await page.waitForSelector('[data-sign][aria-disabled="false"]')
    await checkScreens(page, 'partner-renew')
    expect(trouble()).toEqual([])
  })
})
