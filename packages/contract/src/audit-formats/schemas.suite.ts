import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

const text = { type: 'string', minLength: 1 } as const
/** A text of CloudEvents: no control characters and no half characters. */
const attribute = { type: 'string', pattern: '^[^\\p{Cc}\\p{Cs}\\p{Noncharacter_Code_Point}]+$' } as const
const id = { type: 'integer', minimum: 0 } as const
const oneOf = (...values: readonly number[]): object => ({ enum: values })
const closed = (required: readonly string[], properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
})
const atLeastOne = (names: readonly string[]): object => ({ anyOf: names.map((name) => ({ required: [name] })) })

const USER = {
  ...closed([], { uid: text, name: text, type: text, type_id: oneOf(99) }),
  ...atLeastOne(['uid', 'name']),
}
const ENDPOINT = {
  ...closed([], { ip: { type: 'string', pattern: '^[0-9a-fA-F.:%a-z]+$' }, uid: text, name: text }),
  ...atLeastOne(['ip', 'uid', 'name']),
}
const POLICY = closed(['uid', 'version'], { uid: { type: 'string' }, version: { type: 'string' } })

/** The attributes of every class that we write, with what OCSF 1.8.0 requires of them. */
const COMMON = {
  class_uid: oneOf(0, 3002, 3004, 6003),
  category_uid: oneOf(0, 3, 6),
  activity_id: id,
  activity_name: text,
  type_uid: id,
  severity_id: oneOf(1, 2, 3, 4),
  time: { type: 'integer', minimum: 946_684_800_000, maximum: 253_402_300_799_999 },
  status_id: oneOf(0, 1, 2),
  status_code: text,
  message: text,
  count: { type: 'integer' },
  metadata: closed(['version', 'product', 'uid', 'event_code', 'sequence', 'original_time', 'log_name'], {
    version: { const: '1.8.0' },
    product: closed(['name', 'vendor_name', 'version', 'feature'], {
      name: text,
      vendor_name: text,
      version: text,
      feature: closed(['name'], { name: text }),
    }),
    profiles: { type: 'array', minItems: 1, uniqueItems: true, items: { enum: ['security_control', 'trace'] } },
    uid: text,
    event_code: text,
    sequence: id,
    correlation_uid: text,
    original_time: text,
    log_name: text,
    tenant_uid: text,
  }),
  unmapped: { type: 'object' },
}
const REQUIRED = ['class_uid', 'category_uid', 'activity_id', 'type_uid', 'severity_id', 'time', 'metadata', 'unmapped']
const ACTOR = { ...closed([], { user: USER, app_name: text }), ...atLeastOne(['user', 'app_name']) }

const eventClass = (
  uid: number,
  activities: readonly number[],
  required: readonly string[],
  properties: Readonly<Record<string, object>>,
): object => ({
  ...closed([...REQUIRED, ...required], {
    ...COMMON,
    ...properties,
    class_uid: { const: uid },
    category_uid: { const: Math.trunc(uid / 1000) },
  }),
  anyOf: activities.map((activity) => ({
    properties: { activity_id: { const: activity }, type_uid: { const: uid * 100 + activity } },
  })),
  // The activity Other has a name.
  if: { properties: { activity_id: { const: 99 } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['activity_name'] },
})

const API_ACTIVITY = eventClass(6003, [1, 2, 3, 4, 99], ['actor', 'api', 'src_endpoint'], {
  actor: ACTOR,
  api: closed(['operation'], { operation: text, service: closed(['name'], { name: text }) }),
  src_endpoint: ENDPOINT,
  action_id: oneOf(1, 2),
  disposition_id: oneOf(1, 2),
  authorizations: {
    type: 'array',
    minItems: 1,
    items: closed(['decision'], { decision: { enum: ['allowed', 'denied'] }, policy: POLICY }),
  },
  trace: closed(['uid'], { uid: { type: 'string', pattern: '^[0-9a-f]{32}$' } }),
})

/** Attributes of a profile may stand only in an event that names the profile. */
const profile = (name: string, attributes: readonly string[]): object => ({
  if: { ...atLeastOne(attributes) },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: {
    properties: { metadata: { required: ['profiles'], properties: { profiles: { contains: { const: name } } } } },
  },
})

const OCSF = {
  oneOf: [
    eventClass(0, [99], [], {}),
    {
      ...eventClass(3002, [1], ['user', 'service'], {
        user: USER,
        service: closed(['name'], { name: text }),
        src_endpoint: ENDPOINT,
      }),
    },
    eventClass(3004, [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13], ['entity'], {
      actor: ACTOR,
      src_endpoint: ENDPOINT,
      entity: {
        ...closed(['type', 'type_id'], { uid: text, name: text, type: text, type_id: { const: 99 }, version: text }),
        ...atLeastOne(['uid', 'name']),
      },
    }),
    API_ACTIVITY,
  ],
  allOf: [profile('security_control', ['action_id', 'disposition_id', 'authorizations']), profile('trace', ['trace'])],
}

/** CloudEvents 1.0: the required attributes, ours, and names of extensions in lower case and digits. */
const CLOUD_EVENT = {
  ...closed(['specversion', 'id', 'source', 'type', 'time', 'datacontenttype', 'sequence', 'data'], {
    specversion: { const: '1.0' },
    id: text,
    source: { type: 'string', pattern: "^urn:chancery:(authority|gateway)(:[A-Za-z0-9%._~!*()'-]+)?$" },
    type: { type: 'string', pattern: '^chancery\\.(authority|gateway)\\.audit\\.[a-z_]+$' },
    time: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' },
    subject: attribute,
    datacontenttype: { const: 'application/json' },
    sequence: { type: 'string', pattern: '^[0-9]{16}$' },
    authtype: { enum: ['api_key'] },
    authid: attribute,
    data: { type: 'object' },
  }),
  propertyNames: { pattern: '^[a-z0-9]+$' },
  dependentRequired: { authtype: ['authid'], authid: ['authtype'] },
}

const ajv = new Ajv2020({ allErrors: false, strict: false })
const checks: Readonly<Record<'ocsf' | 'cloudevents', ValidateFunction>> = {
  ocsf: ajv.compile(OCSF),
  cloudevents: ajv.compile(CLOUD_EVENT),
}

/** What is wrong with an event; empty when it follows the schema. */
export function problemsOf(format: 'ocsf' | 'cloudevents', event: unknown): readonly string[] {
  const check = checks[format]
  if (check(event)) return []
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
