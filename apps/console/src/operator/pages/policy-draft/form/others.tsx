import type { JSX } from 'preact'
import { spell } from '../../policies/policy-text.ts'
import type { Form } from './controls.tsx'
import { type Place, otherMembers, placeText, valueAt, withValue } from './edit-draft.ts'

/** Members that the form has no field for. They stay in the draft until an operator removes them. */
export function Others(props: {
  readonly form: Form
  readonly place: Place
  readonly known: readonly string[]
}): JSX.Element | null {
  const { form, place, known } = props
  const names = otherMembers(valueAt(form.intent, place), known)
  if (names.length === 0) return null
  return (
    <div class="field" data-others={placeText(place)}>
      <span class="label">Other members, unchanged</span>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <code>{name}</code>: <code>{spell(valueAt(form.intent, [...place, name]) ?? null)}</code>{' '}
            <button
              type="button"
              class="btn tiny"
              aria-label={`Remove the member ${name}`}
              onClick={() => form.onIntent(withValue(form.intent, [...place, name], undefined))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
