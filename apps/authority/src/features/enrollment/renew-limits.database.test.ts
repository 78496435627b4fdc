import { ManualClock, accepted, enroll, nodeCaller, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The default of NA_RATE_LIMIT_RENEW_PER_KEY_PER_HOUR. */
describe('POST /renew, 429', () => {
  const clock = new ManualClock()
  const settings = { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_NODE_KEY_PER_MINUTE: '1000' }
  let [na, other]: (TestAuthority | undefined)[] = []
  beforeAll(async () => {
    na = await startTestAuthority({ clock, settings })
    other = await startTestAuthority({ clock, settings, database: na.database })
  })
  afterAll(async () => {
    await other?.stop()
    await na?.stop()
  })

  const of = (authority: TestAuthority | undefined): TestAuthority => {
    if (authority === undefined) throw new Error('the authority did not start')
    return authority
  }
  let counter = 0
  const newNode = async (): Promise<NodeCaller> => {
    counter += 1
    return nodeCaller(of(na).url, await testSigner('node', `renew-limit-${counter}`), () => clock.now())
  }
  const retryAfter = (answer: TestResponse): number => Number(answer.headers['retry-after'])
  /** Renews the newest certificate, `count` times. */
  async function renewOften(node: NodeCaller, cert_id: string, count: number): Promise<string> {
    let stored = cert_id
    for (let index = 0; index < count; index += 1) {
      stored = String(accepted(await node.renew(stored), 201)['cert_id'])
      clock.advance(60)
    }
    return stored
  }

  it('after six of one key within an hour, with the time until the next', async () => {
    const node = await newNode()
    const stored = await renewOften(node, (await enroll(of(na), node)).cert_id, 6)
    const answer = await node.renew(stored)
    refused(answer, 429, 'rate_limit_exceeded')
    // The first was six minutes ago.
    expect(retryAfter(answer)).toBe(3600 - 360 + 1)
    accepted(await node.heartbeat(stored))
    clock.advance(3600 - 360)
    await renewOften(node, stored, 1)
  })

  it('counts the renewals of all certificates of the key, on all instances together', async () => {
    const node = await newNode()
    const [first, second] = [await enroll(of(na), node), await enroll(of(na), node)]
    await renewOften(node, first.cert_id, 3)
    const elsewhere = nodeCaller(of(other).url, node.signer, () => clock.now())
    await renewOften(elsewhere, second.cert_id, 3)
    for (const caller of [node, elsewhere]) refused(await caller.renew(second.cert_id), 429, 'rate_limit_exceeded')
  })

  it('applies to concurrent renewals', async () => {
    const node = await newNode()
    const certificates = [await enroll(of(na), node), await enroll(of(na), node)]
    const callers = [of(na), of(other)].map(({ url }) => nodeCaller(url, node.signer, () => clock.now()))
    const calls = callers.flatMap((caller) =>
      Array.from({ length: 10 }, (_, index) => caller.renew(certificates[index % 2]?.cert_id ?? '')),
    )
    const answers = await Promise.all(calls)
    expect(answers.map((answer) => answer.status).sort()).toEqual([
      ...Array<number>(6).fill(201),
      ...Array<number>(14).fill(429),
    ])
  })

  it('does not affect other keys, and applies only to a certificate that could be renewed', async () => {
    const [busy, calm] = [await newNode(), await newNode()]
    const [first, second] = [await enroll(of(na), busy), await enroll(of(na), calm)]
    await renewOften(busy, first.cert_id, 6)
    accepted(await calm.renew(second.cert_id), 201)
    refused(await busy.renew('unknown'), 403, 'certificate_not_found')
    clock.advance(900)
    refused(await busy.renew(first.cert_id), 403, 'certificate_superseded')
  })
})
