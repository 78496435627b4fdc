import type { JsonObject } from '@chancery/protocol'
import type { JSX } from 'preact'
import { policyText, readDraft, spell } from '../../policies/policy-text.ts'
import { Shape } from '../../../parts/state.tsx'
import type { DraftViewProps } from '../draft-format.ts'
import { Field, type Form } from './controls.tsx'
import { Gates } from './gates.tsx'
import { Others } from './others.tsx'
import { Parameters } from './parameters.tsx'

const POLICY = ['policy_id', 'description', 'valid_from', 'valid_until', 'selector', 'gates']
const SELECTOR = [
  {
    name: 'capabilities',
    label: 'Capabilities',
    hint: 'One per line. pay.* is every capability that begins with «pay.». Empty: all.',
  },
  { name: 'requester_sovereign_ids', label: 'Requesters', hint: 'Networks that ask. One per line. Empty: all.' },
  { name: 'provider_sovereign_ids', label: 'Providers', hint: 'Networks that are asked. One per line. Empty: all.' },
  { name: 'agreement_ids', label: 'Agreements', hint: 'One id per line. Empty: all.' },
] as const
const PARENT_KINDS = ['agreement', 'delegation', 'direct', 'attestation'] as const
const WINDOW = 'A time with Z or an offset.'

/** The draft as fields. It edits the same text as JSON and YAML, and keeps every member that it has no field for. */
export function FormView({ text, problems, isNew, onText }: DraftViewProps): JSX.Element {
  const { intent } = readDraft(text)
  if (intent === undefined) return <p class="pad">This text is not a policy. Change it as JSON.</p>
  // Members stay in the order of the person: a row that moves while it is edited gets the next click of another one.
  const form: Form = { intent, problems, onIntent: (next) => onText(spell(next)) }
  return (
    <div class="form pad" data-form>
      <fieldset>
        <legend>Policy</legend>
        <Field form={form} place={['policy_id']} field={{ label: 'Policy id', kind: 'text' }} isReadOnly={!isNew} />
        <Field form={form} place={['description']} field={{ label: 'Description', kind: 'text' }} rows={2} />
        <div class="pair">
          <Field form={form} place={['valid_from']} field={{ label: 'Valid from', kind: 'time', hint: WINDOW }} />
          <Field form={form} place={['valid_until']} field={{ label: 'Valid until', kind: 'time', hint: WINDOW }} />
        </div>
        <Others form={form} place={[]} known={POLICY} />
      </fieldset>
      <Selector form={form} />
      <Gates form={form} />
      <Problems form={form} />
    </div>
  )
}

function Selector({ form }: { readonly form: Form }): JSX.Element {
  const known = [...SELECTOR.map(({ name }) => name), 'parent_kinds', 'parameter_equals']
  return (
    <fieldset>
      <legend>Applies to</legend>
      {SELECTOR.map(({ name, label, hint }) => (
        <Field key={name} form={form} place={['selector', name]} field={{ label, hint, kind: 'texts' }} />
      ))}
      <Field
        form={form}
        place={['selector', 'parent_kinds']}
        field={{
          label: 'Basis of the request',
          kind: 'words',
          choices: PARENT_KINDS,
          hint: 'None ticked: every basis.',
        }}
      />
      <Parameters form={form} />
      <Others form={form} place={['selector']} known={known} />
    </fieldset>
  )
}

/** Every problem once more, with those of members that have no field. */
function Problems({ form }: { readonly form: Form }): JSX.Element {
  const { problems } = form
  return (
    <ul class={problems.length === 0 ? '' : 'effect'} id="draft-problems" data-problems={problems.length}>
      {problems.map((problem, index) => (
        <li key={index}>
          <Shape shape="square" tone="bad" />
          <div>{problem.text}</div>
        </li>
      ))}
    </ul>
  )
}

/** For the lazy loader of the formats. */
export const FORM_FORMAT = {
  name: 'Form',
  read: readDraft,
  write: (intent: JsonObject): string => policyText(intent),
  View: FormView,
} as const
