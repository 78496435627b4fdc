import { canonicalJson, isJsonObject, readJson, readPolicyIntent } from '@chancery/protocol'
import type { BoundaryPolicy, JsonObject, JsonValue } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { BoundaryPolicyVersion, Client, PolicySimulation } from '@chancery/sdk'
import { plain } from '../../components/plain.ts'
import { jsonObject, optionalNumber, text } from './action.ts'
import type { Action, Field, Values } from './action.ts'
import { diffTexts } from './diff.ts'
import type { DiffLine } from './diff.ts'
import type { Preview } from './preview.ts'

const TRIALS: Field = {
  name: 'contexts',
  label: 'Requests to simulate, a JSON list',
  kind: 'json',
  isAside: true,
  rows: 3,
  help: 'Default: the newest stored decisions.',
}
const POLICY: readonly Field[] = [
  { name: 'policy_id', label: 'Policy id', kind: 'text', required: true },
  { name: 'version', label: 'Version', kind: 'number', required: true },
]

export const POLICY_ACTIONS: readonly Action[] = [
  {
    id: 'policy-publish',
    title: 'Publish a boundary policy',
    purpose: 'Signs the next version, inactive. The preview shows its problems and its effect.',
    fields: [{ name: 'intent', label: 'Policy as JSON', kind: 'json', required: true }, TRIALS],
    draft(values) {
      const body = jsonObject(values, 'intent')
      return {
        target: 'POST /admin/boundary-policies',
        body,
        preview: (client) => previewPublishing(client, values, body),
        send: (client) => client.boundaryPolicies.publish(body),
      }
    },
  },
  {
    id: 'policy-activate',
    title: 'Activate a boundary policy',
    purpose: 'Decisions use this version from the next request on. Choose an earlier version to roll back.',
    isFinal: true,
    fields: [...POLICY, TRIALS],
    draft(values) {
      const [id, version] = [text(values, 'policy_id'), versionOf(values)]
      return {
        target: `POST /admin/boundary-policies/${id}/activate`,
        body: { version },
        preview: (client) => previewActivation(client, values),
        send: (client) => client.boundaryPolicies.activate(id, version),
      }
    },
  },
  {
    id: 'policy-deactivate',
    title: 'Deactivate a boundary policy',
    purpose:
      'The policy no longer applies from the next request on. If enforcement is required, a set without policies denies.',
    isFinal: true,
    fields: POLICY,
    draft(values) {
      const [id, version] = [text(values, 'policy_id'), versionOf(values)]
      return {
        target: `POST /admin/boundary-policies/${id}/deactivate`,
        body: { version },
        preview: (client) => previewDeactivation(client, values),
        send: (client) => client.boundaryPolicies.deactivate(id, version),
      }
    },
  },
]

async function previewPublishing(client: Client, values: Values, intent: JsonObject): Promise<Preview> {
  const { valid, issues, warnings, policy_id, next_version } = await client.boundaryPolicies.validate(intent)
  if (!valid) return { lines: ['It would be refused:', ...issues.map((issue) => `${issue.code}: ${issue.message}`)] }
  const active = (await client.boundaryPolicies.active()).active.find((each) => each.policy_id === policy_id)
  return {
    lines: [
      `${policy_id} becomes version ${next_version}, inactive.`,
      active === undefined ? 'No version of it is in force.' : `Version ${active.version} stays in force.`,
      ...warnings.map(({ message }) => `Warning: ${message}.`),
    ],
    ...compared(active?.policy ?? null, intent),
    ...(await simulated(client, values, intent)),
  }
}

async function previewActivation(client: Client, values: Values): Promise<Preview> {
  const { candidate, active } = await findVersions(client, values)
  if (candidate.policy === null)
    return { lines: ['The stored text differs from the published text: it would be refused.'] }
  const lines = [
    active === undefined ? 'It is not active now.' : `Version ${active.version} is active now and will be replaced.`,
  ]
  const intent = intentOf(candidate.policy)
  return { lines, ...compared(active?.policy ?? null, intent), ...(await simulated(client, values, intent)) }
}

async function previewDeactivation(client: Client, values: Values): Promise<Preview> {
  const { candidate } = await findVersions(client, values)
  const { enforcement, active } = await client.boundaryPolicies.active()
  const others = active.filter((each) => each.policy_id !== candidate.policy_id).length
  return {
    lines: [
      candidate.active
        ? 'It is in force now and ends with the next request.'
        : 'Nothing would change: it is not in force.',
      `Other policies in force: ${others}. Enforcement is ${enforcement}.`,
    ],
  }
}

const versionOf = (values: Values): number => optionalNumber(values, 'version').version ?? 0

const ALL_VERSIONS = { limit: 1000 }

async function findVersions(
  client: Client,
  values: Values,
): Promise<{ readonly candidate: BoundaryPolicyVersion; readonly active: BoundaryPolicyVersion | undefined }> {
  const [id, version] = [text(values, 'policy_id'), versionOf(values)]
  const { versions } = await client.boundaryPolicies.history(id, ALL_VERSIONS)
  const candidate = versions.find((each) => each.version === version)
  if (candidate === undefined) throw new Error(`There is no version ${version} of ${id}.`)
  return { candidate, active: versions.find((each) => each.active) }
}

const ASSIGNED: ReadonlySet<string> = new Set(['version', 'issued_at', 'issued_by', 'issuer_sovereign_id', 'signature'])

/** The members that the author sets. The authority adds the others. */
export function intentOf(policy: BoundaryPolicy): JsonObject {
  return Object.fromEntries(Object.entries<JsonValue>(policy as JsonObject).filter(([name]) => !ASSIGNED.has(name)))
}

/** Writes both texts with defaults and in one order of names, so that only real differences remain. */
function compared(active: BoundaryPolicy | null, intent: JsonObject): { readonly diff?: readonly DiffLine[] } {
  if (active === null) return {}
  return { diff: diffTexts(readable(intentOf(active)), readable(intent)) }
}

function readable(intent: JsonObject): string {
  const read = readPolicyIntent(plain(intent['policy_id']), intent)
  return JSON.stringify(JSON.parse(canonicalJson(read.ok ? read.intent : intent)), null, 2)
}

/** Number of stored entries to read. The authority simulates at most this many requests. */
const SIMULATED = 1000

async function simulated(
  client: Client,
  values: Values,
  intent: JsonObject,
): Promise<{ readonly simulation?: PolicySimulation }> {
  const contexts = readContexts(values)
  if (contexts !== undefined) return { simulation: await client.boundaryPolicies.simulate({ intent, contexts }) }
  try {
    const { last_store_sequence } = await client.evidence.status()
    const last = typeof last_store_sequence === 'number' ? last_store_sequence : 0
    const decisions = { after_sequence: Math.max(0, last - SIMULATED), limit: SIMULATED }
    return { simulation: await client.boundaryPolicies.simulate({ intent, decisions }) }
  } catch (error) {
    // Without an evidence store there are no decisions to simulate. Other failures are reported.
    if (error instanceof RefusedError && error.code === 'evidence_store_disabled') return {}
    throw error
  }
}

function readContexts(values: Values): readonly JsonObject[] | undefined {
  const given = text(values, 'contexts')
  if (given === '') return undefined
  const list = readJson(given)
  if (!Array.isArray(list) || !list.every(isJsonObject)) throw new Error('The requests must be a JSON list of objects.')
  return list
}
