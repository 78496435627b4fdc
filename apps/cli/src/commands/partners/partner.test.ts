import type { JsonObject } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let [own, partner, third] = [] as unknown as [RealNetwork, RealNetwork, RealNetwork]
beforeAll(async () => {
  own = await openNetwork({ NA_PARTNER_ADDRESSES: 'loopback' }, 'OWN-NET')
  partner = await openNetwork({}, 'PARTNER-NET')
  third = await openNetwork({}, 'THIRD-NET')
})
afterAll(async () => {
  for (const network of [own, partner, third]) await network.close()
})

const add = (network: RealNetwork, flags = ''): string =>
  `partner add ${network.na.url} --root-key ${network.genesis.root_public_key} --allow-http ${flags}`
const listed = async (): Promise<number> => Number((await own.asOperator('partner list --json')).json()['count'])
/** After the shortest time between two pulls. */
function pull(flags = ''): ReturnType<RealNetwork['asOperator']> {
  own.clock.advance(11)
  return own.asOperator(`partner pull PARTNER-NET ${flags}`)
}

describe('partner add', () => {
  it('needs one kind of key', async () => {
    for (const flags of [
      '',
      `--root-key ${own.genesis.root_public_key} --authority-key ${own.genesis.root_public_key}`,
    ]) {
      const { code, stderr } = await own.asOperator(`partner add ${partner.na.url} ${flags}`)
      expect([code, stderr.includes('--root-key or --authority-key, not both')]).toEqual([2, true])
    }
    expect((await own.asOperator(add(partner, '--defer'))).code).toBe(2)
    expect((await own.asOperator(add(partner, '--max-feed-age 59'))).code).toBe(2)
  })

  it('refuses another root key and registers nothing', async () => {
    const line = `partner add ${partner.na.url} --root-key ${own.genesis.root_public_key} --allow-http --json`
    const { code, errorJson } = await own.asOperator(line)
    expect([code, errorJson()]).toMatchObject([1, { error: { code: 'partner_mismatch' } }])
    expect(await listed()).toBe(0)
    expect((await own.asOperator('partner list')).stdout).toBe('No partner.\n')
  })

  it('registers a partner, and says that this recognises no member', async () => {
    const { code, stdout } = await own.asOperator(add(partner, '--import-feeds --every 600 --label neighbour'))
    expect(code).toBe(0)
    expect(stdout).toContain('Added PARTNER-NET. It recognises no members')
    expect(stdout).toContain('every 600 s')
    const shown = (await own.asOperator('partner show PARTNER-NET --json')).json()
    expect(shown).toMatchObject({
      sovereign_id: 'PARTNER-NET',
      url: partner.na.url,
      pin: { kind: 'root', root_public_key: partner.genesis.root_public_key },
      import_feeds: 'on',
      interval_seconds: 600,
      label: 'neighbour',
      state: 'new',
      alarms: [],
    })
    const again = await own.asOperator(add(partner, '--json'))
    expect([again.code, again.errorJson()]).toMatchObject([1, { error: { code: 'partner_exists' } }])
  })
})

describe('partner pull', () => {
  it('reads the partner, imports its revocations and lists the treaties it reports', async () => {
    await partner.asOperator(
      `treaty issue THIRD-NET --key ${third.genesis.network_authority.public_key} --role role:client`,
    )
    const issued = (await partner.asOperator('attestation issue ann --role role:client --json')).json()
    await partner.asOperator(`attestation revoke ${String(issued['attestation_id'])} --reason left --yes`)
    const first = await pull('--json')
    expect([first.code, first.json()]).toMatchObject([0, { outcome: 'ok', partner: { state: 'fresh' } }])
    const { stdout } = await own.asOperator('partner show PARTNER-NET')
    expect(stdout).toMatch(/feed +1 of .*, 1 id, imported 1$/m)
    expect(stdout).toMatch(/treaties +1 reported, 0 left out$/m)
    const second = await pull()
    expect([second.code, second.stdout.split('\n')[0]]).toEqual([0, 'Pulled: unchanged.'])
    const treaties = await own.asOperator('partner show --treaties PARTNER-NET')
    expect(treaties.stdout).toContain('PARTNER-NET ──▶ THIRD-NET')
    expect(treaties.stdout).toContain('1 reported treaty, which decide nothing here.')
    const rows = (await own.asOperator('partner show --treaties PARTNER-NET --json')).json()['treaties'] as JsonObject[]
    expect(rows).toMatchObject([{ treaty: { subject_sovereign_id: 'THIRD-NET' } }])
    const list = await own.asOperator('partner list --state fresh')
    expect(list.stdout).toMatch(/^PARTNER-NET +fresh +.* ago +unchanged +1 +on +1 +http/m)
  })

  it('fails with its outcome when the partner does not answer', async () => {
    expect((await own.asOperator('partner set PARTNER-NET --address http://127.0.0.1:9')).code).toBe(0)
    const { code, stdout } = await pull()
    expect([code, stdout.split('\n')[0]]).toEqual([1, 'Not pulled in full: unreachable.'])
    expect((await own.asOperator(`partner set PARTNER-NET --address ${partner.na.url}`)).code).toBe(0)
    expect((await pull()).code).toBe(0)
  })
})

describe('partner set', () => {
  it('changes what is given', async () => {
    const line = 'partner set PARTNER-NET --pause --every 900s --import-feeds off --max-feed-age 0s --json'
    expect((await own.asOperator(line)).json()).toMatchObject({
      paused: true,
      state: 'paused',
      interval_seconds: 900,
      import_feeds: 'off',
      max_feed_age_seconds: 0,
      label: 'neighbour',
    })
    const back = await own.asOperator('partner set PARTNER-NET --resume --default-feed-age --remove-label --json')
    expect(back.json()).toMatchObject({ paused: false, max_feed_age_seconds: null, label: null })
  })

  it('needs something to change, and no contradiction', async () => {
    expect((await own.asOperator('partner set PARTNER-NET')).code).toBe(2)
    expect((await own.asOperator('partner set PARTNER-NET --pause --resume')).code).toBe(2)
    const unknown = await own.asOperator('partner set UNKNOWN --pause --json')
    expect([unknown.code, unknown.errorJson()]).toMatchObject([1, { error: { code: 'partner_not_found' } }])
  })
})

describe('partner repin, clear-alarm and remove', () => {
  it('pins keys that the partner shows, after a question', async () => {
    const wrong = `partner set PARTNER-NET --root-key ${own.genesis.root_public_key} --reason x --yes --json`
    expect((await own.asOperator(wrong)).errorJson()).toMatchObject({ error: { code: 'partner_mismatch' } })
    const key = partner.genesis.network_authority.public_key
    const unasked = await own.asOperator(`partner set PARTNER-NET --authority-key ${key} --reason x`)
    expect([unasked.code, unasked.stderr.includes('add --yes')]).toEqual([2, true])
    const done = await own.asOperator(`partner set PARTNER-NET --authority-key ${key} --reason x --yes --json`)
    expect(done.json()).toMatchObject({ pin: { kind: 'keys', authority_public_keys: [key] } })
  })

  it('clears no alarm that is not there', async () => {
    const { code, errorJson } = await own.asOperator('partner set PARTNER-NET --clear-alarm none --reason x --json')
    expect([code, errorJson()]).toMatchObject([1, { error: { code: 'alarm_not_found' } }])
  })

  it('removes the partner and names the treaties that stay', async () => {
    const key = partner.genesis.network_authority.public_key
    const treaty = (await own.asOperator(`treaty issue PARTNER-NET --key ${key} --role role:client --json`)).json()
    const dry = await own.asOperator('partner remove PARTNER-NET --dry-run')
    expect(dry.stdout).toContain(`chancery treaty revoke ${String(treaty['treaty_id'])}`)
    expect(await listed()).toBe(1)
    const done = await own.asOperator('partner remove PARTNER-NET --reason ended --yes --json')
    expect(done.json()).toMatchObject({ removed: true, treaties_in_force: [treaty['treaty_id']] })
    expect(await listed()).toBe(0)
  })
})

describe('partner add', () => {
  const bootstrap = (flags: string): string =>
    `partner add ${third.na.url} --role role:client --root-key ${third.genesis.root_public_key} ${flags}`

  it('issues the treaty and registers the partner, once', async () => {
    expect((await own.asOperator(bootstrap('--import-feeds --yes'))).code).toBe(2)
    const dry = await own.asOperator(bootstrap('--partner --dry-run'))
    expect([dry.code, dry.stdout.includes('registered')]).toEqual([0, true])
    expect(await listed()).toBe(0)
    const { code, json } = await own.asOperator(bootstrap('--partner --import-feeds --yes --json'))
    expect([code, json()]).toMatchObject([
      0,
      {
        treaty: { subject_sovereign_id: 'THIRD-NET' },
        partner: {
          sovereign_id: 'THIRD-NET',
          import_feeds: 'on',
          pin: { kind: 'root', root_public_key: third.genesis.root_public_key },
        },
      },
    ])
    const again = await own.asOperator(bootstrap('--partner --yes'))
    expect([again.code, again.stderr.includes('is a partner already')]).toEqual([0, true])
    expect(await listed()).toBe(1)
  })
})
