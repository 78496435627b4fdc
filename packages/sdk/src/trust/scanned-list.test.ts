import { instantOf, seconds, writeJson } from '@chancery/protocol'
import { testCertificate, testIssuer, testList } from '@chancery/testkit'
import { afterEach, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import { ResponseError, UsageError } from '../errors.ts'
import { type TestServer, listen } from '../http/http-server.suite.ts'
import { systemClock } from '../http/system-clock.ts'
import { RelyingParty } from '../verify/relying-party.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

it('a scanned list is checked like one of values, and an unreadable or forged one is refused', async () => {
  const now = systemClock()
  const by = await testIssuer('agency')
  const list = (sequence: number, ...ids: string[]) =>
    testList(by, now, {
      sequence,
      issuedAgo: seconds(600 - sequence),
      entries: ids.map((certificate_id) => ({ certificate_id, reason: 'ségné \\ "x"' })),
    })
  const anchors = { [by.keyId]: by.signer.publicKey }
  const party = await RelyingParty.open({ network: 'agency', anchors, crl: await list(9) })
  const newer = await list(10, 'gone', 'more')
  const answers = [
    writeJson(newer),
    writeJson({ ...newer, sequence: 11 }),
    writeJson(newer),
    writeJson(await list(9)),
    writeJson({ ...newer, sequence: 11 }),
    '{"crl_id":"x"}',
  ]
  server = await listen(() => ({ raw: answers.shift() ?? '' }))
  const client = createAuthorityClient({ url: server.url, retry: false })
  const begun = await RelyingParty.open({ network: 'agency', anchors, crl: await client.crl.scanned() })
  expect([begun.sequenceOf(), begun.nextUpdateOf()]).toEqual([10, instantOf(newer.next_update)])
  const known = await begun.evaluate(await testCertificate(by, now, { cert_id: 'more' }), now)
  expect(known.decision?.findings).toMatchObject([{ code: 'revoked', withdrawn: false }])
  const forged = await client.crl.scanned()
  await expect(RelyingParty.open({ network: 'agency', anchors, crl: forged })).rejects.toThrow(UsageError)
  expect(await party.install(await client.crl.scanned(), now)).toEqual({ valid: true })
  const { decision } = await party.evaluate(await testCertificate(by, now, { cert_id: 'gone' }), now)
  expect(decision?.findings).toMatchObject([{ code: 'revoked', reason: 'ségné \\ "x"', withdrawn: false }])
  expect((await party.evaluate(await testCertificate(by, now, { cert_id: 'fine' }), now)).trusted).toBe(true)
  expect(await party.install(await client.crl.scanned(), now)).toEqual({ valid: false, reason: 'rollback' })
  expect(await party.install(await client.crl.scanned(), now)).toEqual({ valid: false, reason: 'not_authentic' })
  await expect(client.crl.scanned()).rejects.toThrow(ResponseError)
  expect(party.sequenceOf()).toBe(10)
})

it('a compact list is read as strictly as one of values', async () => {
  const now = systemClock()
  const by = await testIssuer('agency')
  const make = (entry: object) => testList(by, now, { entries: [{ certificate_id: 'gone', ...entry }] })
  const good = await make({})
  const answers = [good, await make({ reason: 'other' }), await make({ certificate_id: '' })].map(writeJson)
  server = await listen(() => ({ raw: answers.shift() ?? '' }))
  const client = createAuthorityClient({ url: server.url, retry: false })
  const list = await client.crl.compact()
  expect([list.count, list.crl]).toEqual([1, good])
  expect(list.entryOf('gone')).toEqual(good.revoked_certificates[0])
  await expect(client.crl.compact()).rejects.toThrow(ResponseError)
  await expect(client.crl.compact()).rejects.toThrow(ResponseError)
})
