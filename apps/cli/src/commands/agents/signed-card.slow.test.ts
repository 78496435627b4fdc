import { readFile, writeFile } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '@chancery/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const CARD = {
  name: 'Printer',
  description: 'Prints documents.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://print.example.org/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['application/pdf'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'print', name: 'Print', description: 'Prints a file.', tags: ['paper'] }],
}

let alpha: RealNetwork
let beta: RealNetwork
beforeAll(async () => {
  alpha = await openNetwork()
  beta = await openNetwork({}, 'BETA-NET')
  for (const network of [alpha, beta]) {
    await network.join('node')
    await writeFile(network.setup.path('card.json'), JSON.stringify(CARD))
  }
})
afterAll(async () => {
  await alpha.close()
  await beta.close()
})

let server: Server | undefined
afterEach(() => new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve()))))

/** Serves a text at the well-known path, and nothing elsewhere. */
async function serve(text: string, status = 200): Promise<string> {
  server = createServer((request, response) => {
    response.statusCode = request.url === '/.well-known/agent-card.json' ? status : 404
    response.setHeader('Location', '/elsewhere')
    response.end(text)
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function sign(network: RealNetwork, home = 'node'): Promise<string> {
  const { code, stdout, stderr } = await network.run(`agent sign-card card.json --home ${home}`)
  expect([code, stderr]).toEqual([0, expect.stringContaining('sign again after each renewal')])
  return stdout
}

const authority = (): string => `--genesis genesis.json --url ${alpha.na.url}`

describe('agent sign-card', () => {
  it('prints the card with certificate and signature, and nothing else', async () => {
    const card = JSON.parse(await sign(alpha)) as JsonObject
    const { cert_id } = JSON.parse(await readFile(alpha.setup.path('node', 'certificate.json'), 'utf8')) as JsonObject
    expect(card).toMatchObject({
      name: 'Printer',
      capabilities: {
        streaming: true,
        extensions: [
          { uri: 'urn:chancery:agent-certificate:v1', params: { network: 'TEST-NET', crl: `${alpha.na.url}/crl` } },
        ],
      },
    })
    const [signature] = card['signatures'] as { protected: string }[]
    const header = Buffer.from(signature?.protected ?? '', 'base64url').toString('utf8')
    expect(JSON.parse(header)).toEqual({ alg: 'EdDSA', kid: cert_id, typ: 'JOSE' })
  })

  it('signs a signed card again, and leaves its former signature out', async () => {
    await writeFile(alpha.setup.path('card.json'), await sign(alpha))
    const { stdout, stderr } = await alpha.run('agent sign-card card.json --home node')
    await writeFile(alpha.setup.path('card.json'), JSON.stringify(CARD))
    expect(stderr).toContain('former signatures of the card were left out')
    expect((JSON.parse(stdout) as { signatures: unknown[] }).signatures).toHaveLength(1)
  })

  it('refuses a card whose bytes depend on the writer, and names what to change', async () => {
    const card = { ...CARD, url: 'https://x', documentationUrl: '', skills: [{ ...CARD.skills[0], weight: 1 }] }
    await writeFile(alpha.setup.path('bad.json'), JSON.stringify(card))
    const { code, stderr, stdout } = await alpha.run('agent sign-card bad.json --home node')
    expect([code, stdout]).toEqual([1, ''])
    for (const problem of [
      'url is not a member of A2A 1.0',
      'documentationUrl is empty: remove it or fill it in',
      'skills[0].weight is not a member of A2A 1.0',
    ])
      expect(stderr).toContain(problem)
  })

  it('refuses when the certificate has expired', async () => {
    const later = { now: () => alpha.clock.now() + 400n * 86_400_000_000n }
    const { code, stderr } = await alpha.run('agent sign-card card.json --home node', later)
    expect([code, stderr]).toEqual([1, expect.stringContaining('it has expired')])
  })
})

describe('agent card verify, own network', () => {
  it('accepts the card at the origin of the agent, and shows who signed', async () => {
    const url = await serve(await sign(alpha))
    const { code, stdout } = await alpha.run(`verify ${url} ${authority()}`)
    expect([code, stdout]).toEqual([0, expect.stringContaining('Valid: Printer')])
    const { json } = await alpha.run(`verify ${url} ${authority()} --json`)
    expect(json()).toMatchObject({
      ok: true,
      network: 'TEST-NET',
      treaty_id: null,
      interfaces: [CARD.supportedInterfaces[0]?.url],
    })
    expect((await alpha.run(`verify ${url} --home node`)).code).toBe(0)
  })

  it('accepts the card of one node key or role only, when options name it', async () => {
    await alpha.join('other')
    await writeFile(alpha.setup.path('signed.json'), await sign(alpha, 'other'))
    const line = `verify signed.json ${authority()} --json`
    const keyOf = async (home: string): Promise<string> => {
      const record = JSON.parse(await readFile(alpha.setup.path(home, 'certificate.json'), 'utf8')) as JsonObject
      return String(record['node_public_key'])
    }
    const own = await alpha.run(`${line} --node-key ${await keyOf('other')} --role role:client`)
    expect([own.code, own.json()]).toEqual([0, expect.objectContaining({ ok: true, notes: [] })])
    const wrong = await alpha.run(`${line} --node-key ${await keyOf('node')}`)
    expect([wrong.code, wrong.json()['reason']]).toEqual([1, 'node_key_mismatch'])
    const role = await alpha.run(`${line} --role role:client --role role:service:print`)
    expect([role.code, role.json()]).toEqual([
      1,
      { ok: false, reason: 'role_missing', problem: 'the certificate has no role:service:print' },
    ])
  })

  it('notes a card that names no interface at the address where it was fetched', async () => {
    const url = await serve(await sign(alpha))
    const note = `no interface is at ${url}, where the card was fetched`
    const far = await alpha.run(`verify ${url} ${authority()} --json`)
    expect([far.code, far.json()['notes']]).toEqual([0, [note]])
    expect((await alpha.run(`verify ${url} ${authority()}`)).stdout).toContain(note)
  })

  it('fetches by plain http from this machine only, without the flag', async () => {
    const line = `verify http://192.0.2.1:1/card.json ${authority()}`
    const { code, stderr } = await alpha.run(line)
    expect([code, stderr]).toEqual([2, expect.stringContaining('you can add --allow-http')])
    const local = await alpha.run(`verify http://127.0.0.1:1/card.json ${authority()}`)
    expect([local.code, local.stderr]).toEqual([1, expect.stringContaining('cannot be reached')])
  })

  it('takes no address from the card: without one it says which flag to give', async () => {
    await writeFile(alpha.setup.path('signed.json'), await sign(alpha))
    const { code, stderr } = await alpha.run('verify signed.json --genesis genesis.json')
    expect(code).toBe(2)
    expect(stderr).toContain(`The card names ${alpha.na.url}/crl; its signer chose that address.`)
    expect(stderr).toContain('Give --url <address>, or --crl <file>.')
  })

  it('works without a network with a list in a file', async () => {
    await writeFile(alpha.setup.path('signed.json'), await sign(alpha))
    await writeFile(alpha.setup.path('crl.json'), await (await fetch(`${alpha.na.url}/crl`)).text())
    const line = 'verify signed.json --genesis genesis.json --crl crl.json --url http://127.0.0.1:1'
    expect((await alpha.run(line)).code).toBe(0)
    const old = await alpha.run(line, { now: () => alpha.clock.now() + 86_400_000_000n * 2n })
    expect([old.code, old.stdout]).toEqual([1, expect.stringContaining('certificate_untrusted')])
    await writeFile(alpha.setup.path('other.json'), await (await fetch(`${beta.na.url}/crl`)).text())
    const other = await alpha.run(line.replace('crl.json', 'other.json'))
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('is not signed by its key')])
  })

  it('refuses a changed card, a card of an unpinned network, a redirect and a page without a card', async () => {
    const text = await sign(alpha)
    await writeFile(alpha.setup.path('bad.json'), text.replace('Prints documents.', 'Shreds documents.'))
    const bad = await alpha.run(`verify bad.json ${authority()} --json`)
    expect([bad.code, bad.json()]).toEqual([1, expect.objectContaining({ ok: false, reason: 'signature_invalid' })])
    await writeFile(alpha.setup.path('foreign.json'), await sign(beta))
    const foreign = await alpha.run(`verify foreign.json ${authority()} --json`)
    expect([foreign.code, foreign.json()['reason']]).toEqual([1, 'network_unknown'])
    const moved = await alpha.run(`verify ${await serve(text, 302)} ${authority()}`)
    expect([moved.code, moved.stderr]).toEqual([1, expect.stringContaining('answered 302')])
    const none = await alpha.run(`verify ${alpha.na.url} ${authority()}`)
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('answered 404')])
  })

  it('refuses a card larger than the limit', async () => {
    const { code, stderr } = await alpha.run(`agent card verify ${await serve('x'.repeat(262_145))} ${authority()}`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('larger than 262144 bytes')])
  })

  it('refuses the card from the moment its node is revoked', async () => {
    await alpha.join('stolen')
    await writeFile(alpha.setup.path('signed.json'), await sign(alpha, 'stolen'))
    const line = `verify signed.json ${authority()} --json`
    expect((await alpha.run(line)).code).toBe(0)
    await alpha.asOperator(`node revoke ${alpha.setup.path('stolen', 'certificate.json')} --yes`)
    const after = await alpha.run(line)
    expect([after.code, after.json()['reason']]).toEqual([1, 'certificate_untrusted'])
  })
})

describe('agent card verify, partner', () => {
  const line = (): string => `verify beta.json ${authority()} --partner-url ${beta.na.url} --json`

  async function treaty(role: string): Promise<string> {
    const key = beta.genesis.network_authority.public_key
    const { json } = await alpha.asOperator(`treaty issue BETA-NET --key ${key} --role ${role} --json`)
    return String(json()['treaty_id'])
  }

  it('accepts it under a treaty in force, and refuses it when the treaty is revoked', async () => {
    await writeFile(alpha.setup.path('beta.json'), await sign(beta))
    const wrong = await treaty('role:service:other')
    const refused = await alpha.run(line())
    expect([refused.code, refused.json()['reason']]).toEqual([1, 'role_not_allowed'])
    await alpha.asOperator(`treaty revoke ${wrong} --yes`)
    const id = await treaty('role:client')
    const { code, json } = await alpha.run(line())
    expect([code, json()]).toEqual([0, expect.objectContaining({ ok: true, network: 'BETA-NET', treaty_id: id })])
    const unnamed = await alpha.run(`verify beta.json ${authority()}`)
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('Give --partner-url <address>')])
    const other = await alpha.run(line().replace(beta.na.url, alpha.na.url))
    expect([other.code, other.json()['reason']]).toEqual([1, 'treaty_key_mismatch'])
    await alpha.asOperator(`treaty revoke ${id} --yes`)
    const after = await alpha.run(line())
    expect([after.code, after.json()['reason']]).toEqual([1, 'network_unknown'])
  })
})
