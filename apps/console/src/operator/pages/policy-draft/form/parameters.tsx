import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { isObject } from '../../policies/policy-text.ts'
import { Field, type Form } from './controls.tsx'
import { renamed, valueAt, withValue } from './edit-draft.ts'

const PLACE = ['selector', 'parameter_equals'] as const

/** Facts that must have one of some values for the policy to apply. */
export function Parameters({ form }: { readonly form: Form }): JSX.Element {
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
