/** What a field of the form edits, which decides its control. */
export type FieldKind =
  | 'path'
  | 'text'
  | 'time'
  | 'number'
  | 'yes'
  | 'texts'
  | 'scalars'
  | 'scalar'
  | 'days'
  | 'words'
  | 'json'

export interface GateField {
  /** The place in the config. */
  readonly name: string
  readonly label: string
  readonly kind: FieldKind
  readonly isOptional?: true
  readonly hint?: string
  /** For `words`. */
  readonly choices?: readonly string[]
  /** For `yes`: what a missing member means. */
  readonly isYes?: true
  /** For `yes` as a choice of two: the texts of true and of false. */
  readonly words?: readonly [isTrue: string, isFalse: string]
}

const PATH: GateField = {
  name: 'path',
  label: 'Value to check',
  kind: 'path',
  hint: 'A fact of the request, such as request_parameters.amount.',
}
const INCLUSIVE: GateField = {
  name: 'inclusive',
  label: 'The limit itself passes',
  kind: 'yes',
  isOptional: true,
  isYes: true,
}
const VALUES: GateField = {
  name: 'values',
  label: 'Values',
  kind: 'scalars',
  hint: 'One per line. 5, true and null are a number, a boolean and null; "5" in quotes is a text.',
}
const entity = (name: string, label: string): readonly GateField[] => [
  { name: `${name}.type`, label: `${label} type`, kind: 'text', hint: 'A type of the Cedar schema.' },
  { name: `${name}.id`, label: `${label} id`, kind: 'path', hint: 'The fact that has the id.' },
]

const list = (name: string, label: string): GateField => ({ name, label, kind: 'texts', isOptional: true })
const seconds = (name: string, label: string, hint: string): GateField => ({
  name,
  label,
  kind: 'number',
  isOptional: true,
  hint,
})

/** The fields of each gate type. A test compares them with the schemas of the protocol. */
export const GATE_FIELDS: Readonly<Record<string, readonly GateField[]>> = {
  'allowlist.v1': [PATH, VALUES],
  'approval.v1': [
    { name: 'title', label: 'Title', kind: 'text', hint: 'Approvers read it.' },
    {
      name: 'when',
      label: 'When as JSON',
      kind: 'json',
      isOptional: true,
      hint: 'Always when empty. Or {"kind":"above","path":"request_parameters.amount","scale":2,"limit":1000}.',
    },
    {
      name: 'approvers',
      label: 'Approvers as JSON',
      kind: 'json',
      hint: 'All must be met. Such as [{"kind":"operators","count":2}].',
    },
    { ...list('show', 'Facts that approvers see'), hint: 'One path per line. All when this is empty.' },
    seconds('expires_seconds', 'Seconds to approve', '86400 when this is empty.'),
    seconds('use_within_seconds', 'Seconds to use the approval', '900 when this is empty.'),
    { ...list('bind_except', 'Facts that may differ at the use'), hint: 'One path per line.' },
  ],
  'attestation_claim.v1': [PATH, { name: 'claim', label: 'Claim of the attestation', kind: 'text' }],
  'boolean_required.v1': [
    PATH,
    {
      name: 'expected',
      label: 'The value',
      kind: 'yes',
      isOptional: true,
      isYes: true,
      words: ['must be true', 'must be false'],
    },
  ],
  'budget.v1': [
    {
      name: 'measure',
      label: 'Measure as JSON',
      kind: 'json',
      hint: '{"kind":"count"}, or {"kind":"sum","path":"request_parameters.amount","scale":2}.',
    },
    {
      name: 'window',
      label: 'Window as JSON',
      kind: 'json',
      hint: '{"kind":"calendar","unit":"day"}, or {"kind":"rolling","seconds":3600}.',
    },
    { name: 'limit', label: 'Limit', kind: 'scalar', isOptional: true, hint: 'A fraction in quotes: "19.99".' },
    {
      name: 'limits',
      label: 'Limits by unit as JSON',
      kind: 'json',
      isOptional: true,
      hint: 'In place of the limit, with unit_path: {"EUR":1000}.',
    },
    {
      name: 'counts',
      label: 'Counts',
      kind: 'text',
      isOptional: true,
      hint: 'on_allow or on_execution. on_allow when this is empty.',
    },
    { ...list('executors', 'Executors'), hint: 'One per line, only with on_execution.' },
    seconds('settle_seconds', 'Seconds to report', 'Only with on_execution. 3600 when this is empty.'),
    {
      name: 'per',
      label: 'One counter for each',
      kind: 'words',
      isOptional: true,
      choices: ['requester', 'subject', 'node'],
    },
    list('match.requesters', 'Only requesters'),
    list('match.subjects', 'Only subjects'),
    list('match.nodes', 'Only nodes'),
    list('match.treaty_ids', 'Only treaties'),
    list('match.capabilities', 'Only capabilities'),
    { name: 'visible', label: 'The member may read it', kind: 'yes', isOptional: true },
  ],
  'cedar.v1': [
    { name: 'policy_set_digest', label: 'Digest of the policy set', kind: 'text' },
    { name: 'schema_digest', label: 'Digest of the schema', kind: 'text' },
    ...entity('principal', 'Principal'),
    ...entity('action', 'Action'),
    ...entity('resource', 'Resource'),
    {
      name: 'context',
      label: 'Facts in the context',
      kind: 'words',
      isOptional: true,
      choices: [
        'request_parameters',
        'attributes',
        'attestation',
        'requested_at',
        'requested_capability',
        'requester_sovereign_id',
        'provider_sovereign_id',
        'agreement_id',
        'parent_kind',
        'context_freshness_seq',
      ],
    },
    { name: 'entities', label: 'Entities as JSON', kind: 'json', isOptional: true },
  ],
  'denylist.v1': [PATH, VALUES],
  'external_fact.v1': [
    { name: 'origin', label: 'Origin', kind: 'text', hint: 'https://host or https://host:port' },
    { name: 'path', label: 'Path', kind: 'text', hint: 'Begins with one /.' },
    { name: 'question', label: 'Question as JSON', kind: 'json', hint: '{"fact": "…"} is replaced by the fact.' },
    { name: 'answer.path', label: 'Member with the answer', kind: 'text' },
    {
      name: 'answer.equals',
      label: 'Expected answer',
      kind: 'scalar',
      isOptional: true,
      hint: 'true when this is empty.',
    },
    { name: 'revision.path', label: 'Member with the revision', kind: 'text', isOptional: true },
    { name: 'revision.equals', label: 'Expected revision', kind: 'text', isOptional: true },
    { name: 'freshness.path', label: 'Member with the time', kind: 'text', isOptional: true },
    { name: 'freshness.max_age_seconds', label: 'Maximum age in seconds', kind: 'number', isOptional: true },
    {
      name: 'time_limit_ms',
      label: 'Time limit in milliseconds',
      kind: 'number',
      isOptional: true,
      hint: '200 when this is empty.',
    },
  ],
  'max_value.v1': [PATH, { name: 'max', label: 'Maximum', kind: 'number' }, INCLUSIVE],
  'min_value.v1': [PATH, { name: 'min', label: 'Minimum', kind: 'number' }, INCLUSIVE],
  'required_parameter.v1': [PATH],
  'scope_membership.v1': [
    PATH,
    { name: 'allowed', label: 'Allowed items', kind: 'texts', hint: 'One per line. Every item must be one of them.' },
  ],
  'time_window.v1': [
    { name: 'not_before', label: 'Not before', kind: 'time', isOptional: true },
    { name: 'not_after', label: 'Not after', kind: 'time', isOptional: true },
    {
      name: 'weekdays',
      label: 'Weekdays in UTC',
      kind: 'days',
      isOptional: true,
      hint: 'None ticked: every day.',
    },
    { name: 'utc_hour_start', label: 'From hour (UTC)', kind: 'number', isOptional: true, hint: '0 to 23' },
    { name: 'utc_hour_end', label: 'Until hour (UTC)', kind: 'number', isOptional: true, hint: '1 to 24' },
  ],
}

/** Undefined for a type that this console does not have. */
export const fieldsOf = (gateType: unknown): readonly GateField[] | undefined =>
  typeof gateType === 'string' && Object.hasOwn(GATE_FIELDS, gateType) ? GATE_FIELDS[gateType] : undefined
