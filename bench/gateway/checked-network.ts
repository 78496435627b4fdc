import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { seconds, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  enroll,
  freePort,
  newNodeCaller,
  nodeCaller,
  startTestAuthority,
  testClient,
  testPolicy,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { BenchOptions } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { startGateway } from '../lib/servers.ts'

export const AUDIENCE = 'https://print.example'
/** Needs a proof only. */
export const PROVEN = '/jobs/1'
/** Needs a decision, too. */
export const DECIDED = '/printers/p1'

const SETTINGS = { NA_NODE_DECISIONS: 'own', NA_DECISION_RELAY_ROLES: 'role:relay', EVIDENCE_STORE: 'on' }
const CHECK = {
  audience: AUDIENCE,
  requests_per_minute: 1_000_000,
  decisions_per_minute: 1_000_000,
  routes: [
    { method: 'GET', path: '/jobs/{job}' },
    {
      method: 'GET',
      path: '/printers/{printer}',
      capability: 'print',
      resource: { type: 'printer', id: '{printer}' },
    },
  ],
}

/** A node that calls a service behind a proxy. */
export interface CheckedNode {
  readonly certificate: JoinCertificate
  readonly signer: Signer
}

interface Checked {
  /** The port of the check. */
  readonly check: number
  /** The gateway process. */
  readonly pid: number
  readonly node: CheckedNode
}

/** An authority, a node with an attestation, and a gateway process whose check the policy opens for it. */
export async function openChecked({
  directory,
  cleanup,
  profileDirectory,
}: Pick<BenchOptions, 'directory' | 'cleanup' | 'profileDirectory'>): Promise<Checked> {
  const na = await startTestAuthority({ settings: SETTINGS })
  cleanup.add(() => na.stop())
  const caller = await newNodeCaller(na.url, 'checked', systemClock)
  const certificate = await enroll(na, caller, { roles: ['role:client'] })
  const attested = { subject_id: 'agent-7', subject_public_key: caller.key, roles: ['role:client'] }
  const body = { ...attested, validity_hours: 24, claims: { capabilities: ['print'] } }
  const { attestation_id = null } = accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
  const subjects = { [`node:${certificate.cert_id}`]: attestation_id }
  const file = await writePolicy(directory, na, subjects)
  const port = await freePort()
  const { pid } = await startGateway(
    { GATEWAY_POLICY_FILE: file, GATEWAY_CHECK_ADDR: `${HOST}:${port}`, GATEWAY_CHECK_DIALECT: 'original' },
    cleanup,
    profileDirectory,
  )
  // Proofs from the second in which the gateway started count as spent.
  const startedSecond = systemClock.now() / seconds(1)
  while (systemClock.now() / seconds(1) <= startedSecond) await pause(20)
  return { check: port, pid, node: { certificate, signer: caller.signer } }
}

/** The gateway asks with the certificate of a relay. */
async function writePolicy(directory: string, na: TestAuthority, subjects: JsonObject): Promise<string> {
  const name = 'bench-relay'
  const relay = nodeCaller(na.url, await testSigner('relay', name), () => systemClock.now())
  const certificate = await enroll(na, relay, { roles: ['role:relay'] })
  await mkdir(directory, { recursive: true })
  const [key_file, certificate_file] = [join(directory, 'relay.key'), join(directory, 'relay.json')]
  await writeFile(key_file, writePrivateKeyFile(testSeed(name)), { mode: 0o600 })
  await writeFile(certificate_file, writeJson(certificate), { mode: 0o600 })
  const network = {
    anchors: { 'na-test': na.genesis.network_authority.public_key },
    crl: accepted(await na.request('GET', '/crl')),
    minimum_crl_sequence: 0,
    authority_url: na.url,
    allow_http: true,
    decisions: { key_file, certificate_file, subjects },
  }
  const policy = { ...testPolicy({ 'TEST-NET': network }, [testClient('caller', ['TEST-NET'])]), check: CHECK }
  const file = join(directory, 'check-policy.json')
  await writeFile(file, writeJson(policy), { mode: 0o600 })
  return file
}
