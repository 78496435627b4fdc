import { accepted } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { openPartnerCalls } from '../partners/partner-calls.suite.ts'

const calls = openPartnerCalls()
const { clock } = calls

const read = async (series: string): Promise<string | undefined> => {
  const { text } = await calls.na.request('GET', '/metrics')
  return text
    .split('\n')
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1)
}

/** Only the partner table: names also appear in warnings. */
const readTable = async (): Promise<string> => {
  const { text } = await calls.na.request('GET', '/dashboard')
  return text.split('<h2>Partners</h2>')[1]?.split('</section>')[0] ?? ''
}

it('shows a partner from its registration to a stale feed in metrics and on the dashboard', async () => {
  expect(await read('chancery_partners{state="new"}')).toBe('0')
  expect(await readTable()).toContain('No partners.')

  const stub = await calls.newPartner({ interval_seconds: 300 })
  expect(await read('chancery_partners{state="new"}')).toBe('1')
  expect(await readTable()).toContain('1 partner, none with a treaty in force.')

  const treaty = { subject_sovereign_id: stub.name, subject_public_keys: [stub.key.publicKey], validity_hours: 240 }
  accepted(await calls.na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
  await calls.pull(stub)
  expect(await read('chancery_partners{state="new"}')).toBe('0')
  expect(await read('chancery_partners{state="fresh"}')).toBe('1')
  expect(await read('chancery_partner_oldest_good_pull_seconds')).toBe('0')
  expect(await readTable()).toContain(stub.name)
  expect(await readTable()).toContain('fresh')

  // The authority may pull again after the clock moved.
  for (const path of ['/genesis', '/sovereign.json', '/crl', '/sovereign-revocation-feed', '/recognition-treaties'])
    stub.show(path, (_request, response) => void response.writeHead(503).end())
  clock.advance(25 * 3600)
  expect(await read('chancery_partners{state="stale"}')).toBe('1')
  expect(await read('chancery_partner_oldest_good_pull_seconds')).toBe('90000')
  expect(await readTable()).toContain('stale')
})
