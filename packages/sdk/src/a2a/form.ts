import { type JsonObject, type JsonValue, isJsonObject, visible } from '@chancery/protocol'

/**
 * The form of a card that may be signed (docs/agent-cards.md). The canonical forms in use differ in what they drop:
 * empty members, members outside the schema, flags with their default. A card without any of these has the same bytes
 * in all of them.
 */
type Form =
  | 'text'
  | 'flag'
  /** Absent means false; writers drop a false one. */
  | 'true'
  /** Anything without empty members, null and numbers. */
  | 'free'
  | { readonly list: Form }
  | { readonly map: Form }
  | { readonly members: Readonly<Record<string, Form>>; readonly required?: readonly string[]; readonly one?: true }

const TEXTS: Form = { list: 'text' }
const REQUIREMENTS: Form = { list: { members: { schemes: { map: { members: { list: TEXTS } } } } } }

const SKILL: Form = {
  members: {
    id: 'text',
    name: 'text',
    description: 'text',
    tags: TEXTS,
    examples: TEXTS,
    inputModes: TEXTS,
    outputModes: TEXTS,
    securityRequirements: REQUIREMENTS,
  },
  required: ['id', 'name', 'description', 'tags'],
}

const FLOW = { refreshUrl: 'text', scopes: { map: 'text' } } as const
const FLOWS: Form = {
  members: {
    authorizationCode: { members: { ...FLOW, authorizationUrl: 'text', tokenUrl: 'text', pkceRequired: 'true' } },
    clientCredentials: { members: { ...FLOW, tokenUrl: 'text' } },
    implicit: { members: { ...FLOW, authorizationUrl: 'text' } },
    password: { members: { ...FLOW, tokenUrl: 'text' } },
    deviceCode: { members: { ...FLOW, deviceAuthorizationUrl: 'text', tokenUrl: 'text' } },
  },
  one: true,
}

const SCHEME: Form = {
  members: {
    apiKeySecurityScheme: { members: { description: 'text', location: 'text', name: 'text' } },
    httpAuthSecurityScheme: { members: { description: 'text', scheme: 'text', bearerFormat: 'text' } },
    oauth2SecurityScheme: { members: { description: 'text', flows: FLOWS, oauth2MetadataUrl: 'text' } },
    openIdConnectSecurityScheme: { members: { description: 'text', openIdConnectUrl: 'text' } },
    mtlsSecurityScheme: { members: { description: 'text' } },
  },
  one: true,
}

const EXTENSION: Form = {
  members: { uri: 'text', description: 'text', required: 'true', params: 'free' },
  required: ['uri'],
}

/** A2A 1.0, without `signatures`. */
const CARD: Form = {
  members: {
    name: 'text',
    description: 'text',
    version: 'text',
    documentationUrl: 'text',
    iconUrl: 'text',
    provider: { members: { url: 'text', organization: 'text' }, required: ['url', 'organization'] },
    supportedInterfaces: {
      list: {
        members: { url: 'text', protocolBinding: 'text', tenant: 'text', protocolVersion: 'text' },
        required: ['url', 'protocolBinding', 'protocolVersion'],
      },
    },
    capabilities: {
      members: {
        streaming: 'flag',
        pushNotifications: 'flag',
        extendedAgentCard: 'flag',
        extensions: { list: EXTENSION },
      },
    },
    securitySchemes: { map: SCHEME },
    securityRequirements: REQUIREMENTS,
    defaultInputModes: TEXTS,
    defaultOutputModes: TEXTS,
    skills: { list: SKILL },
  },
  required: [
    'name',
    'description',
    'version',
    'supportedInterfaces',
    'capabilities',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
  ],
}

const MAX_PROBLEMS = 8

/** What must be changed before a card, without its signatures, can be signed. Empty when nothing. */
export function cardProblems(card: JsonObject): readonly string[] {
  const problems: string[] = []
  for (const problem of problemsOf(card, CARD, '')) {
    problems.push(problem)
    if (problems.length === MAX_PROBLEMS) break
  }
  return problems
}

function* problemsOf(value: JsonValue, form: Form, at: string): Generator<string> {
  if (form === 'text') yield* textProblem(value, at)
  else if (form === 'flag') yield* value === true || value === false ? [] : [`${at} must be true or false`]
  else if (form === 'true')
    yield* value === true ? [] : [`${at} must be true or absent: some writers drop it when it is false`]
  else if (form === 'free') yield* freeProblems(value, at)
  else if ('list' in form) yield* listProblems(value, form.list, at)
  else if ('map' in form) yield* mapProblems(value, form.map, at)
  else yield* memberProblems(value, form, at)
}

function* textProblem(value: JsonValue, at: string): Generator<string> {
  if (typeof value !== 'string') yield `${at} must be a text`
  else if (value === '') yield emptyProblem(at)
}

function* freeProblems(value: JsonValue, at: string): Generator<string> {
  if (value === null) yield emptyProblem(at)
  else if (typeof value === 'string') yield* textProblem(value, at)
  else if (Array.isArray(value)) yield* listProblems(value as readonly JsonValue[], 'free', at)
  else if (isJsonObject(value)) yield* mapProblems(value, 'free', at)
  else if (typeof value !== 'boolean') yield `${at} is a number: write it as a text, writers spell numbers differently`
}

function* listProblems(value: JsonValue, form: Form, at: string): Generator<string> {
  if (!Array.isArray(value)) yield `${at} must be a list`
  else if (value.length === 0) yield emptyProblem(at)
  else for (const [index, item] of value.entries()) yield* problemsOf(item as JsonValue, form, `${at}[${index}]`)
}

function* mapProblems(value: JsonValue, form: Form, at: string): Generator<string> {
  if (!isJsonObject(value)) return yield `${at} must be an object`
  const members = Object.entries(value)
  if (members.length === 0) yield emptyProblem(at)
  for (const [name, item] of members) {
    const place = join(at, name)
    // Programs in JavaScript lose this name, and names outside ASCII have two orders.
    if (!/^[\x20-\x7e]+$/.test(name) || name === '__proto__') yield `${place}: use a name of ASCII characters`
    else yield* problemsOf(item, form, place)
  }
}

function* memberProblems(value: JsonValue, form: Extract<Form, { members: unknown }>, at: string): Generator<string> {
  if (!isJsonObject(value)) return yield `${at} must be an object`
  const names = Object.keys(value)
  if (names.length === 0) return yield emptyProblem(at)
  if (form.one === true && names.length > 1) yield `${at} must have one member only`
  for (const name of form.required ?? [])
    if (!Object.hasOwn(value, name)) yield `${join(at, name)} is missing: A2A 1.0 requires it`
  for (const [name, item] of Object.entries(value)) {
    const known = Object.hasOwn(form.members, name) ? form.members[name] : undefined
    if (known === undefined)
      yield `${join(at, name)} is not a member of A2A 1.0: remove it, or put it into the params of an extension`
    else yield* problemsOf(item, known, join(at, name))
  }
}

function emptyProblem(at: string): string {
  return `${at} is empty: remove it or fill it in, some writers drop empty members`
}

function join(at: string, name: string): string {
  const shown = visible(name.slice(0, 64))
  return at === '' ? shown : `${at}.${shown}`
}

/** RFC 8785 for cards without problems: their names are ASCII, and they have no numbers. */
export function canonicalCard(value: JsonValue): string {
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(canonicalCard).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalCard(value[name] ?? null)}`).join(',')}}`
}
