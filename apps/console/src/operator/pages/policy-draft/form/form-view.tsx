import type { JsonObject } from '@chancery/protocol'
import type { JSX } from 'preact'
import { isObject, policyText, readDraft, spell } from '../../policies/policy-text.ts'
import { Shape } from '../../../parts/drawer.tsx'
import type { DraftViewProps } from '../validation.ts'
import { Field, type Form } from './controls.tsx'
import { Gates, Others } from './gates.tsx'
import { useState } from 'preact/hooks'
import { renamed, valueAt, withValue } from './edit-draft.ts'

const PLACE = ['selector', 'parameter_equals'] as const

/** Facts that must have one of some values for the policy to apply. */
function Parameters({ form }: { readonly form: Form }): JSX.Element {
  const value = valueAt(form.intent, PLACE)
  if (value !== undefined && !isObject(value))
    return <Field form={form} place={PLACE} field={{ label: 'Parameter values as JSON', kind: 'json' }} />
  const members = value ?? {}
  const problem = form.problems.find(({ field }) => field === 'selector.parameter_equals')
  return (
    <div class="field" data-parameters={Object.keys(members).length}>
      <span class="label">Values of the request</span>
      {Object.keys(members).map((path, at) => (
        <div class="pair" key={at}>
          <Path
            path={path}
            number={at}
            onPath={(next) => {
              const changed = renamed(members, path, next)
              if (changed === undefined) return false
              form.onIntent(withValue(form.intent, PLACE, changed))
              return true
            }}
          />
          <div>
            <Field
              form={form}
              place={[...PLACE, path]}
              empty={[]}
              field={{ label: `Values of ${path}`, kind: 'scalars', hint: 'One per line. "5" in quotes is a text.' }}
            />
            <button
              type="button"
              class="btn tiny"
              aria-label={`Remove the fact ${path}`}
              onClick={() => form.onIntent(withValue(form.intent, [...PLACE, path], undefined))}
            >
              Remove
            </button>
          </div>
        </div>
      ))}
      {problem === undefined ? null : (
        <span class="no small" data-problem="selector.parameter_equals">
          {problem.text}
        </span>
      )}
      <div>
        <button
          type="button"
          class="btn tiny"
          onClick={() => form.onIntent(withValue(form.intent, [...PLACE, newName(members)], []))}
        >
          Add a fact
        </button>
      </div>
    </div>
  )
}

function newName(members: object): string {
  const base = 'request_parameters.name'
  let [name, number] = [base, 1]
  while (Object.hasOwn(members, name)) name = `${base}_${(number += 1)}`
  return name
}

/** The name of a member is applied when the field is left: two equal names would be one. */
function Path(props: {
  readonly path: string
  readonly number: number
  readonly onPath: (path: string) => boolean
}): JSX.Element {
  const [isUsed, setUsed] = useState(false)
  const id = `form-parameter-${props.number}`
  return (
    <div class="field">
      <label for={id}>Fact</label>
      <input
        class="input mono"
        id={id}
        autocomplete="off"
        spellcheck={false}
        value={props.path}
        {...(isUsed ? { 'aria-invalid': true, 'aria-describedby': `${id}-problem` } : {})}
        onChange={({ currentTarget }) => setUsed(!props.onPath(currentTarget.value.trim()))}
      />
      {isUsed ? (
        <span class="no small" id={`${id}-problem`}>
          Another row has this fact. Add the values there.
        </span>
      ) : null}
    </div>
  )
}

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
