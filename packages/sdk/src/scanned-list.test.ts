import { seconds, writeJson } from '@chancery/protocol'
import { testCertificate, testIssuer, testList } from '@chancery/testkit'
import { afterEach, expect, it } from 'vitest'
import { createClient } from './client.ts'
import { AnswerError } from './errors.ts'
import { listen } from './http-server.suite.ts'
import type { TestServer } from './http-server.suite.ts'
import { systemClock } from './system-clock.ts'
import { RelyingParty } from './verify/relying-party.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

it('a scanned list is judged like one of values, and an unreadable or forged one is not taken', async () => {
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
  const answers = [writeJson(newer), writeJson(await list(9)), writeJson({ ...newer, sequence: 11 }), '{"crl_id":"x"}']
  server = await listen(() => ({ raw: answers.shift() ?? '' }))
  const client = createClient({ url: server.url, retry: false })
  expect(await party.install(await client.crl.scanned(), now)).toEqual({ ok: true })
  const { findings } = await party.evaluate(await testCertificate(by, now, { cert_id: 'gone' }), now)
  expect(findings).toMatchObject([{ code: 'revoked', reason: 'ségné \\ "x"', withdrawn: false }])
  expect((await party.evaluate(await testCertificate(by, now, { cert_id: 'fine' }), now)).trusted).toBe(true)
  expect(await party.install(await client.crl.scanned(), now)).toEqual({ ok: false, reason: 'rollback' })
  expect(await party.install(await client.crl.scanned(), now)).toEqual({ ok: false, reason: 'not_authentic' })
  await expect(client.crl.scanned()).rejects.toThrow(AnswerError)
  expect(party.sequenceOf()).toBe(10)
})
