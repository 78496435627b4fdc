import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type JsonObject, signOperatorRequest, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type TestAuthority, accepted, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

// A client that a published generator makes from GET /swagger.json, with nothing of ours in it (protocol/core 22.4).

type Call = (options?: Readonly<Record<string, unknown>>) => Promise<JsonObject>
type Service = Readonly<Record<string, Call>>
interface Client {
  readonly SafeService: Service
  readonly OperatorService: Service
}

const run = promisify(execFile)
const require = createRequire(import.meta.url)
const binOf = (name: string, file: string): string => join(dirname(require.resolve(`${name}/package.json`)), file)

let na: TestAuthority
let home: string
let client: Client
beforeAll(async () => {
  na = await startTestAuthority({ network: 'CLIENT-NET' })
  home = await mkdtemp(join(tmpdir(), 'chancery-client-'))
  const document = accepted(await na.request('GET', '/swagger.json'))
  const input = join(home, 'swagger.json')
  await writeFile(input, JSON.stringify(document))
  const output = join(home, 'client')
  const generator = binOf('openapi-typescript-codegen', 'bin/index.js')
  await run(process.execPath, [generator, '--input', input, '--output', output, '--useOptions', '--useUnionTypes'])
  client = (await import(pathToFileURL(join(output, 'index.ts')).href)) as Client
})
afterAll(async () => {
  await na.stop()
  await rm(home, { recursive: true, force: true })
})

/** Calls a route with the four headers that an operator signs over method, path and body. */
async function asOperator(name: string, path: string, body: JsonObject, more: JsonObject = {}): Promise<JsonObject> {
  const signer = na.signers['privileged']
  const call = client.OperatorService[name]
  if (signer === undefined || call === undefined) throw new Error(`the client has no ${name}`)
  const headers = await signOperatorRequest(
    {
      method: 'POST',
      path,
      query: {},
      audience: na.genesis.network_authority.public_key,
      body,
      timestamp: writeInstant(systemClock.now()),
      nonce: crypto.randomUUID(),
    },
    signer,
  )
  const named = Object.entries(headers).map(([header, value]) => [toParameter(header), value])
  return call({ ...Object.fromEntries(named), ...more, requestBody: body })
}

/** As the generator names header parameters: X-Admin-Key-Id is xAdminKeyId. */
function toParameter(header: string): string {
  return header.toLowerCase().replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase())
}

async function read(name: string, options: JsonObject = {}): Promise<JsonObject> {
  const call = client.SafeService[name]
  if (call === undefined) throw new Error(`the client has no ${name}`)
  return call(options)
}

it('the types of the generated client compile', async () => {
  const compiler = binOf('typescript', 'bin/tsc')
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--target',
    'esnext',
    '--module',
    'esnext',
  ]
  const more = ['--moduleResolution', 'bundler', '--lib', 'esnext,dom,dom.iterable']
  await run(process.execPath, [compiler, ...options, ...more, join(home, 'client', 'index.ts')])
})

it('calls ten routes of an authority', async () => {
  expect((await read('getHealth'))['status']).toBe('healthy')
  expect((await read('getGenesis'))['network_name']).toBe('CLIENT-NET')
  expect(await read('getCrl')).toHaveProperty('sequence')

  const invite = await asOperator('postAdminInvite', '/admin/invite', { roles: ['role:client'], label: 'Berlin 3' })
  expect(invite['token_id']).toMatch(/\S/)

  const body = { subject_id: 'member-1', roles: ['role:client'], claims: { public_mesh: true } }
  const issued = await asOperator('postAdminAttestations', '/admin/attestations', body, { idempotencyKey: 'first-1' })
  const again = await asOperator('postAdminAttestations', '/admin/attestations', body, { idempotencyKey: 'first-1' })
  expect(again).toEqual(issued)
  const attestation_id = String(issued['attestation_id'])

  const found = await read('getAttestations', { published: 'true', limit: 10 })
  expect(found).toMatchObject({ count: 1, attestations: [{ attestation: { attestation_id } }] })
  expect(await read('getAttestationsAttestationId', { attestationId: attestation_id })).toMatchObject({
    status: 'active',
  })

  const treaty = { subject_sovereign_id: 'OTHER-NET', subject_public_keys: [na.genesis.root_public_key], scope: {} }
  await asOperator('postAdminRecognitionTreaties', '/admin/recognition-treaties', treaty)
  expect(await read('getRecognitionTreaties', { subjectSovereignId: 'OTHER-NET' })).toMatchObject({ count: 1 })

  const evaluated = await asOperator('postAdminBoundaryEvaluate', '/admin/boundary/evaluate', {
    attestation_id,
    requested_capability: 'ledger.read',
  })
  const verified = await read('postBoundaryVerify', { requestBody: { decision: evaluated['decision'] ?? null } })
  expect(verified).toMatchObject({ accepted: true, authorized: false })

  const path = `/admin/attestations/${attestation_id}/revoke`
  await asOperator(
    'postAdminAttestationsAttestationIdRevoke',
    path,
    { reason: 'left' },
    { attestationId: attestation_id },
  )
  expect(await read('getAttestationsAttestationId', { attestationId: attestation_id })).toMatchObject({
    status: 'revoked',
  })
})

it('a refusal is an error with its status and envelope', async () => {
  await expect(read('getRecognitionTreatiesTreatyId', { treatyId: 'none' })).rejects.toMatchObject({
    status: 404,
    body: { error: { code: 'treaty_not_found' } },
  })
})
