import { readFile, writeFile } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT, exportJWK, generateKeyPair } from 'jose'
import { GITHUB_ISSUER, type JsonObject, SECOND, joinAudience } from '@chancery/protocol'
import { detailsOf } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
let runner: Server
let sign: (audience: string, claims?: JsonObject) => Promise<string>
/** As the runner of GitHub gives it to a job that may ask for tokens. */
let env: Record<string, string>

beforeAll(async () => {
  network = await openNetwork()
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', use: 'sig' }] }
  await writeFile(network.setup.path('jwks.json'), JSON.stringify(jwks))
  sign = (audience, claims = {}) => {
    const now = Number(network.clock.now() / SECOND)
    return new SignJWT({ repository_id: '456789', environment: 'production', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .setIssuer(GITHUB_ISSUER)
      .setSubject('repo:acme/print:environment:production')
      .setAudience(audience)
      .setIssuedAt(now)
      .setExpirationTime(now + 300)
      .sign(privateKey)
  }
  runner = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://runner')
    if (request.headers.authorization !== 'Bearer runner-secret') response.writeHead(401).end()
    else void sign(searchParams.get('audience') ?? '').then((value) => response.end(JSON.stringify({ value })))
  })
  await new Promise<void>((done) => runner.listen(0, '127.0.0.1', done))
  env = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(runner.address() as AddressInfo).port}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner-secret',
  }
  await network.asOperator(ADD)
})
afterAll(async () => {
  runner.closeAllConnections()
  await new Promise((done) => runner.close(done))
  await network.close()
})

const ADD =
  'invite rule add ci --github acme/print --repository-id 456789 --environment production --role role:client --keys-file jwks.json'
const join = (home: string, more = '--evidence github --rule ci'): string =>
  `join --home ${home} --url ${network.na.url} --genesis genesis.json ${more}`
const authorityKey = (): string => network.genesis.network_authority.public_key

describe('invite rule add', () => {
  it('says what the rule admits, and gives the same rule again', async () => {
    const { code, stdout } = await network.asOperator(ADD)
    expect(code).toBe(0)
    expect(stdout).toContain(`tokens of ${GITHUB_ISSUER} with repository_id = 456789, environment = production`)
    expect(stdout).toContain(`audience  ${joinAudience(authorityKey())}:<node>`)
    expect((await network.asOperator(`${ADD} --json`)).json()['warnings']).toEqual([])
  })

  it.each([
    ['invite rule add x --github acme/print --keys-file jwks.json', 2, '--repository-id must be given'],
    ['invite rule add x --issuer https://a.example --claim sub=a', 2, '--keys-url or --keys-file must be given'],
    ['invite rule add x --issuer https://a.example --trust-domain b', 2, 'Give one of'],
    ['invite rule add x --issuer https://a.example --keys-file jwks.json --claim sub', 2, 'name=value'],
    ['invite rule add x --issuer https://a.example --keys-file jwks.json --claim team=a', 1, 'must name an identity'],
    ['invite rule add x --gitlab https://gitlab.com --protected', 1, 'project_id or namespace_id'],
    ['invite rule add x --kubernetes https://k.example --namespace prod', 1, 'serviceaccount'],
    [
      'invite rule add x --trust-domain a.example --spiffe-id spiffe://b.example/x --keys-url https://a.example',
      1,
      'a.example',
    ],
  ])('%s is refused', async (line, exit, problem) => {
    const { code, stderr } = await network.asOperator(line)
    expect([code, stderr]).toEqual([exit, expect.stringContaining(problem)])
  })
})

describe('join by evidence', () => {
  it('asks the runner of GitHub for a bound token, and renews with a new one', async () => {
    const { code, stdout } = await network.run(join('github'), { env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('rule ci, github')])
    const [event] = await network.na.auditEvents('certificate_issued')
    expect(detailsOf(event)).toMatchObject({ rule_id: 'ci', evidence_issuer: GITHUB_ISSUER })
    expect(await readFile(network.setup.path('github', 'chancery.toml'), 'utf8')).toContain('source = "github"')
    const renewed = await network.run('node renew --home github', { env })
    expect(renewed.code).toBe(0)
    expect(detailsOf((await network.na.auditEvents('certificate_renewed'))[0])).toMatchObject({ rule_id: 'ci' })
    const outside = await network.run('node renew --home github')
    expect([outside.code, outside.stderr]).toEqual([1, expect.stringContaining('id-token: write')])
  })

  it('takes a token in a file, by a rule with a plain audience', async () => {
    const added = await network.asOperator(
      'invite rule add pods --kubernetes https://kubernetes.default.svc --namespace prod --service-account api --keys-file jwks.json --plain-audience',
    )
    expect(added.stdout).toContain('the audience is plain')
    await network.asOperator(
      `invite rule add any --issuer https://ci.example --claim sub=repo:acme/print:environment:production --keys-file jwks.json --plain-audience`,
    )
    await writeFile(network.setup.path('token.jwt'), await sign(joinAudience(authorityKey())))
    const { code, stderr } = await network.run(join('file', '--evidence-file token.jwt --rule any'))
    // The rule names another issuer.
    expect([code, stderr]).toEqual([1, expect.stringContaining('issuer_mismatch')])
  })

  it.each([
    ['--evidence github', '--rule must be given'],
    ['--rule ci', '--rule is for joins by evidence'],
    ['--evidence github --rule ci --token x', 'not both'],
    ['--evidence github --rule ci --evidence-file x', 'takes no --evidence-file'],
  ])('%s is called wrongly', async (more, problem) => {
    const { code, stderr } = await network.run(join('wrong', more), { env })
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)])
  })

  it('explains a refusal and never prints the token', async () => {
    const token = await sign(joinAudience(authorityKey()), { repository_id: '1' })
    await writeFile(network.setup.path('bad.jwt'), token)
    const { code, stderr, stdout } = await network.run(join('bad', '--evidence-file bad.jwt --rule ci'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('audience_mismatch: ')])
    expect(stdout + stderr).not.toContain(token.split('.')[1])
  })
})

describe('admission test, list and remove', () => {
  it('shows whether a rule admits a token', async () => {
    const other = joinAudience(authorityKey(), authorityKey())
    await writeFile(network.setup.path('good.jwt'), await sign(other))
    const good = await network.asOperator('invite rule test ci --token-file good.jwt --json')
    expect([good.code, good.json()['admitted']]).toEqual([0, true])
    const bad = await network.asOperator('invite rule test ci', { stdin: await sign(other, { repository_id: '1' }) })
    expect([bad.code, bad.stdout]).toEqual([1, expect.stringContaining('claims_mismatch')])
    const none = await network.asOperator('invite rule test none --token-file good.jwt')
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('(admission_rule_not_found)')])
  })

  it('lists rules, and names the certificates that stay when one is removed', async () => {
    const { cert_id } = (await network.run(`${join('stays')} --json`, { env })).json()['certificate'] as JsonObject
    const listed = await network.asOperator('invite list --rules')
    expect(listed.stdout).toMatch(/^ci +active +2 +op-privileged +tokens of /m)
    const preview = await network.asOperator('invite withdraw ci --dry-run')
    expect(preview.stdout).toContain(`chancery node revoke ${String(cert_id)}`)
    const { code, stdout } = await network.asOperator('invite withdraw ci --yes --reason test')
    expect([code, stdout]).toEqual([0, expect.stringContaining('Removed ci.')])
    expect((await network.asOperator('invite list --rules')).stdout).not.toMatch(/^ci /m)
    expect((await network.asOperator('invite list --rules --state all')).stdout).toMatch(/^ci +removed /m)
    const renewal = await network.run('node renew --home stays', { env })
    expect([renewal.code, renewal.stderr]).toEqual([1, expect.stringContaining('rule_unavailable')])
  })
})
