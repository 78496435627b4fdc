import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type TextProblem, spell } from '../../policies/policy-text.ts'
import { isAbout } from '../problem-field.ts'
import { type Place, placeText, valueAt, withValue } from './edit-draft.ts'
import {
  JSON_TEXT,
  NUMBER_TEXT,
  OPTIONAL_TEXT,
  SCALAR_LINES,
  SCALAR_TEXT,
  TEXT,
  TEXT_LINES,
  isNumber,
  isSame,
} from './field-text.ts'
import type { FieldText } from './field-text.ts'
import type { FieldKind, GateField } from './gate-fields.ts'

/** The draft, its problems, and how a control changes it. */
export interface Form {
  readonly intent: JsonObject
  readonly problems: readonly TextProblem[]
  readonly onIntent: (intent: JsonObject) => void
}

export interface FieldProps {
  readonly form: Form
  readonly place: Place
  readonly field: Omit<GateField, 'name'>
  readonly isReadOnly?: boolean
  /** Lines of a long text. */
  readonly rows?: number
  /** In place of removing the member when nothing is typed. */
  readonly empty?: JsonValue
}

const TEXTS: Readonly<Partial<Record<FieldKind, FieldText>>> = {
  path: TEXT,
  text: TEXT,
  number: NUMBER_TEXT,
  texts: TEXT_LINES,
  scalars: SCALAR_LINES,
  scalar: SCALAR_TEXT,
  json: JSON_TEXT,
}
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

/** One member of the draft: its label, its control, and its problems. */
export function Field(props: FieldProps): JSX.Element {
  const { form, place, field } = props
  const id = `form-${placeText(place)}`
  const value = valueAt(form.intent, place)
  const problems = problemsOf(form.problems, placeText(place), field.kind, value)
  const described = [
    ...(field.hint === undefined ? [] : [`${id}-hint`]),
    ...(problems.length === 0 ? [] : [`${id}-problem`]),
  ]
  const control = {
    id,
    'data-field': placeText(place),
    ...(described.length === 0 ? {} : { 'aria-describedby': described.join(' ') }),
    ...(problems.length === 0 ? {} : { 'aria-invalid': true }),
  }
  const set = (next: JsonValue | undefined): void => form.onIntent(withValue(form.intent, place, next))
  const isGroup = field.kind === 'days' || field.kind === 'words'
  return (
    <div class="field">
      {field.kind === 'yes' && field.words === undefined ? null : isGroup ? (
        <span class="label" id={`${id}-label`}>
          {field.label} <Optional of={field} />
        </span>
      ) : (
        <label for={id}>
          {field.label} <Optional of={field} />
        </label>
      )}
      <Control {...props} value={value} control={control} onValue={set} />
      {field.hint === undefined ? null : (
        <span class="hint" id={`${id}-hint`}>
          {field.hint}
        </span>
      )}
      {problems.length === 0 ? null : (
        <span class="no small" id={`${id}-problem`} data-problem={placeText(place)}>
          {problems.join(' ')}
        </span>
      )}
    </div>
  )
}

const Optional = ({ of }: { readonly of: Omit<GateField, 'name'> }): JSX.Element | null =>
  of.isOptional === true ? <span class="quiet">(optional)</span> : null

/** Problems of the authority, and a text where the draft needs a number or JSON, which the form sees at once. */
function problemsOf(
  all: readonly TextProblem[],
  place: string,
  kind: FieldKind,
  value: JsonValue | undefined,
): readonly string[] {
  const found = all.filter(({ field }) => isAbout(field, place)).map(({ text }) => text)
  if (found.length > 0 || value === undefined) return found
  if (kind === 'number' && !isNumber(value)) return ['Write a number, such as 1000 or 0.5.']
  return kind === 'json' && typeof value === 'string' ? ['This is not JSON. Check quotes, commas and brackets.'] : []
}

interface ControlProps extends FieldProps {
  readonly value: JsonValue | undefined
  readonly control: {
    readonly id: string
    readonly 'data-field': string
    readonly 'aria-describedby'?: string
    readonly 'aria-invalid'?: boolean
  }
  readonly onValue: (value: JsonValue | undefined) => void
}

function Control(props: ControlProps): JSX.Element {
  const { field, value, control, onValue } = props
  if (field.kind === 'yes' && field.words !== undefined) return <TrueOrFalse {...props} words={field.words} />
  if (field.kind === 'yes')
    return (
      <label class="tickline">
        <input
          {...control}
          type="checkbox"
          class="check"
          checked={value === undefined ? field.isYes === true : value === true}
          onChange={({ currentTarget }) => onValue(currentTarget.checked)}
        />
        {field.label}
      </label>
    )
  if (field.kind === 'days')
    return <Ticks {...props} choices={DAYS.map((text, index) => ({ value: index + 1, text }))} />
  if (field.kind === 'words')
    return <Ticks {...props} choices={(field.choices ?? []).map((text) => ({ value: text, text }))} />
  return <Typed {...props} />
}

/** A choice of true or false. Another value stays, and is listed. */
function TrueOrFalse(props: ControlProps & { readonly words: NonNullable<GateField['words']> }): JSX.Element {
  const { field, value = field.isYes === true, control, words, onValue } = props
  const chosen = spell(value)
  return (
    <select
      class="input"
      {...control}
      value={chosen}
      onChange={({ currentTarget }) => onValue(currentTarget.value === 'true')}
    >
      <option value="true">{words[0]}</option>
      <option value="false">{words[1]}</option>
      {typeof value === 'boolean' ? null : <option value={chosen}>{chosen}</option>}
    </select>
  )
}

/** Several of a fixed list. Items that are not in the list stay. */
function Ticks(
  props: ControlProps & { readonly choices: readonly { readonly value: JsonValue; readonly text: string }[] },
): JSX.Element {
  const { control, choices, onValue } = props
  const items = Array.isArray(props.value) ? (props.value as readonly JsonValue[]) : []
  const toggle = (value: JsonValue): void => {
    const next = items.includes(value) ? items.filter((item) => item !== value) : [...items, value]
    onValue(next.length === 0 ? undefined : next)
  }
  return (
    <div class="ticks" role="group" aria-labelledby={`${control.id}-label`} {...control}>
      {choices.map(({ value, text }) => (
        <label class="tickline" key={text}>
          <input type="checkbox" class="check" checked={items.includes(value)} onChange={() => toggle(value)} />
          {text}
        </label>
      ))}
    </div>
  )
}

/** Shows what was typed while it has the value of the draft, so that `1.50` stays while a person types `1.505`. */
function Typed({ field, value, control, onValue, isReadOnly, rows, empty }: ControlProps): JSX.Element {
  const [typed, setTyped] = useState('')
  const codec =
    field.isOptional === true && field.kind === 'text' ? OPTIONAL_TEXT : (TEXTS[field.kind] ?? OPTIONAL_TEXT)
  const read = (text: string): JsonValue | undefined => codec.read(text) ?? empty
  const shown = isSame(read(typed), value) ? typed : value === undefined ? '' : codec.write(value)
  const onInput = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void => {
    setTyped(currentTarget.value)
    onValue(read(currentTarget.value))
  }
  const loose = codec.findLoose?.(shown)
  const looseId = `${control.id}-loose`
  const described = [control['aria-describedby'] ?? [], loose === undefined ? [] : looseId].flat().join(' ')
  const shared = {
    ...control,
    ...(loose === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': described }),
    value: shown,
    readOnly: isReadOnly === true,
    spellcheck: false,
    onInput,
  }
  const note =
    loose === undefined ? null : (
      <span class="no small" id={looseId} data-loose>
        {loose}
      </span>
    )
  const isLong = rows !== undefined || ['texts', 'scalars', 'json'].includes(field.kind)
  if (isLong) {
    const lines = Math.max(rows ?? 2, shown.split('\n').length + (rows === undefined ? 1 : 0))
    return (
      <>
        <textarea class="input long" rows={lines} {...shared} />
        {note}
      </>
    )
  }
  const isMono = field.kind !== 'text' && field.kind !== 'number'
  return (
    <>
      <input
        class={`input${isMono ? ' mono' : ''}`}
        autocomplete="off"
        inputMode={field.kind === 'number' ? 'decimal' : 'text'}
        {...(field.kind === 'time' ? { placeholder: '2027-01-14T00:00:00Z' } : {})}
        {...shared}
      />
      {note}
    </>
  )
}

/** A choice of fixed values. A value that is not among them stays, and is listed. */
export function Choice(props: {
  readonly form: Form
  readonly place: Place
  readonly label: string
  readonly choices: readonly { readonly value: string; readonly text: string }[]
  /** What a missing member means. */
  readonly absent: string
  readonly onChoice: (value: string) => void
}): JSX.Element {
  const { form, place, label, absent, onChoice } = props
  const id = `form-${placeText(place)}`
  const value = valueAt(form.intent, place)
  const chosen = typeof value === 'string' ? value : absent
  const isKnown = props.choices.some((choice) => choice.value === chosen)
  const choices = isKnown ? props.choices : [...props.choices, { value: chosen, text: chosen }]
  const problems = form.problems.filter(({ field }) => isAbout(field, placeText(place))).map(({ text }) => text)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        class="input"
        id={id}
        data-field={placeText(place)}
        value={chosen}
        {...(problems.length === 0 ? {} : { 'aria-invalid': true, 'aria-describedby': `${id}-problem` })}
        onChange={({ currentTarget }) => onChoice(currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.text}
          </option>
        ))}
      </select>
      {problems.length === 0 ? null : (
        <span class="no small" id={`${id}-problem`} data-problem={placeText(place)}>
          {problems.join(' ')}
        </span>
      )}
    </div>
  )
}
