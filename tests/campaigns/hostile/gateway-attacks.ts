import { randomBytes } from 'node:crypto'
import { systemClock } from '@chancery/service-kit'
import { costlyVerifications } from '@chancery/testkit'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import type { GatewaySetup } from './setup.ts'
import { type RawResponse, exchange, finishLate, post, withhold } from './raw-requests.ts'

/** Longer than the deadline of the gateway under attack. */
const LATE_MS = 1200

const COSTLY = [...costlyVerifications(systemClock.now(), { kind: 'values', count: 20_000 }).values()]

const SMALL = costlyVerifications(systemClock.now()).get('/trust-evidence/verify')

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` })

const lateBodies: Attack<GatewaySetup> = {
  name: 'bodies after the deadline',
  async run({ url, client, certificate, forwarded }, from, random) {
    const isForwarded = random.chance(50)
    const path = isForwarded ? forwarded : '/verify'
    const body = isForwarded ? (SMALL ?? '') : JSON.stringify({ certificate })
    const headers = bearer(random.chance(70) ? client.token : randomBytes(32).toString('hex'))
    const answers = await Promise.all(
      Array.from({ length: 1 + random.below(3) }, () => finishLate({ url, from }, { path, body, headers }, LATE_MS)),
    )
    const served = answers.filter(({ status }) => status === 200)
    return outcomeOf(answers, served.length > 0 ? ['a body that came too late was verified'] : [])
  },
}

const badTokens: Attack<GatewaySetup> = {
  name: 'bad tokens',
  async run({ url, client, certificate }, from, random) {
    const body = JSON.stringify({ certificate })
    const token = (): string =>
      random.pick(['', 'x', 'ä'.repeat(3), randomBytes(32).toString('hex'), 'a'.repeat(2000), `${client.token}0`])
    const attempts = Array.from({ length: 1 + random.below(40) }, () =>
      post({ url, from }, { path: '/verify', body, headers: bearer(encodeURI(token())) }),
    )
    const answers = await Promise.all(attempts)
    // The same address with a valid credential.
    const good = await post({ url, from }, { path: '/verify', body, headers: bearer(client.token) })
    const complaints = answers.some(({ status }) => status === 200) ? ['a bad token was taken'] : []
    if (good.status !== 200) complaints.push(`a good token was answered with ${good.status} after bad ones`)
    return outcomeOf([...answers, good], complaints)
  },
}

const withheldBodies: Attack<GatewaySetup> = {
  name: 'withheld bodies',
  async run({ url, client, forwarded }, from, random) {
    const announced = random.pick([600, 65_536, 524_288])
    const plan = {
      path: random.pick(['/verify', '/verify/batch', forwarded]),
      announced,
      sent: Math.min(announced - 1, random.pick([0, 100, 60_000])),
      connections: 1 + random.below(12),
      headers: random.chance(50) ? [`Authorization: Bearer ${client.token}`] : [],
    }
    return outcomeOf(await withhold({ url, from }, plan, 20 + random.below(150)))
  },
}

const costlyDocuments: Attack<GatewaySetup> = {
  name: 'costly documents',
  async run({ url, client, certificate, forwarded }, from, random) {
    const signatures = Array.from({ length: 8 }, (_, n) => ({
      key_id: `k-${n}`,
      sig: randomBytes(64).toString('base64'),
    }))
    const forged = { ...certificate, signatures }
    const bodies = [
      JSON.stringify({ certificate: forged }),
      JSON.stringify({ certificates: Array.from({ length: 100 }, () => forged) }),
      COSTLY[random.below(COSTLY.length)] ?? '',
      `${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`,
    ]
    const headers = bearer(random.chance(80) ? client.token : 'nobody')
    const send = (): Promise<RawResponse> =>
      post(
        { url, from },
        { path: random.pick(['/verify', '/verify/batch', forwarded]), body: bodies[random.below(4)] ?? '', headers },
        random.chance(30) ? random.below(40) : undefined,
      )
    const answers = await Promise.all(Array.from({ length: 1 + random.below(3) }, send))
    const trusted = answers.some(({ text }) => text.includes('"trusted":true'))
    return outcomeOf(answers, trusted ? ['a forged certificate was trusted'] : [])
  },
}

const oddRequests: Attack<GatewaySetup> = {
  name: 'odd requests',
  async run({ url }, from, random) {
    const target = random.pick([
      '/%76erify',
      '//verify',
      '/verify/../metrics',
      '/v1/networks/%2e%2e/services/x',
      '/%',
      '*',
    ])
    const framing = random.pick([
      '\r\n',
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      `X: ${'a'.repeat(20_000)}\r\n\r\n`,
    ])
    const bytes = `${random.pick(['GET', 'POST', 'TRACE'])} ${target} HTTP/1.1\r\nHost: x\r\n${framing}`
    return outcomeOf([await exchange({ url, from }, bytes, 400)])
  },
}

export const GATEWAY_ATTACKS: readonly [Attack<GatewaySetup>, ...Attack<GatewaySetup>[]] = [
  lateBodies,
  badTokens,
  badTokens,
  withheldBodies,
  withheldBodies,
  costlyDocuments,
  costlyDocuments,
  oddRequests,
]
