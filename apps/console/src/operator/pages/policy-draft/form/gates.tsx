import type { JsonValue } from '@chancery/protocol'
import { useEffect, useRef } from 'preact/hooks'
import type { JSX } from 'preact'
import { plain } from '../../../../components/plain.ts'
import { Icon } from '../../../parts/icon.tsx'
import { gateText } from '../../../words/gates.ts'
import { isObject } from '../../policies/policy-text.ts'
import { Choice, Field, type Form } from './controls.tsx'
import {
  gatesOf,
  runOrder,
  valueAt,
  withGate,
  withGateType,
  withMovedGate,
  withValue,
  withoutGate,
} from './edit-draft.ts'
import type { EarlierConfigs } from './edit-draft.ts'
import { GATE_FIELDS, fieldsOf } from './gate-fields.ts'
import { Others } from './others.tsx'

const TYPES = Object.keys(GATE_FIELDS).map((value) => ({ value, text: `${gateText(value)} (${value})` }))
const MODES = [
  { value: 'enforce', text: 'denies the request' },
  { value: 'observe', text: 'is only recorded' },
] as const
const GATE = ['gate_id', 'gate_type', 'order', 'mode', 'config', 'disclose_input']

/** The gates in the order in which they run: add, remove and move them. */
export function Gates({ form }: { readonly form: Form }): JSX.Element {
  const gates = gatesOf(form.intent)
  const running = runOrder(gates)
  /** What gets the focus after the next rendering: a control that was moved or made. */
  const wanted = useRef('')
  /** By gate id. A gate that is removed takes its entry with it. */
  const earlier = useRef(new Map<string, EarlierConfigs>())
  useEffect(() => {
    if (wanted.current === '') return
    document.querySelector<HTMLElement>(wanted.current)?.focus()
    wanted.current = ''
  })
  const move = (index: number, step: -1 | 1): void => {
    const to = running.indexOf(index) + step
    if (to < 0 || to >= running.length) return
    wanted.current = `[data-gate="${to}"] [data-move="${step}"]`
    form.onIntent(withMovedGate(form.intent, index, step))
  }
  return (
    <fieldset>
      <legend>Gates</legend>
      <p class="quiet small">A request must pass every gate. Gates run in this order.</p>
      <ol class="gateforms">
        {running.map((index, at) => (
          <li key={index} data-gate={at}>
            <Gate
              form={form}
              index={index}
              name={`${at + 1} of ${running.length}`}
              earlier={earlier.current}
              onMove={(step) => move(index, step)}
              onRemove={() => {
                earlier.current.delete(idOf(gates[index]))
                wanted.current = '[data-add-gate]'
                form.onIntent(withoutGate(form.intent, index))
              }}
            />
          </li>
        ))}
      </ol>
      {form.problems.some(({ field }) => field === 'gates') ? (
        <p class="no small" data-problem="gates">
          {form.problems.find(({ field }) => field === 'gates')?.text}
        </p>
      ) : null}
      <button
        type="button"
        class="btn"
        data-add-gate
        onClick={() => {
          wanted.current = `[data-gate="${gates.length}"] input`
          form.onIntent(withGate(form.intent))
        }}
      >
        <Icon name="plus" />
        Add a gate
      </button>
    </fieldset>
  )
}

interface GateProps {
  readonly form: Form
  readonly index: number
  readonly name: string
  readonly earlier: Map<string, EarlierConfigs>
  readonly onMove: (step: -1 | 1) => void
  readonly onRemove: () => void
}

const idOf = (gate: JsonValue | undefined): string => (isObject(gate) ? plain(gate['gate_id']) : '')

function Gate({ form, index, name, earlier, onMove, onRemove }: GateProps): JSX.Element {
  const id = idOf(valueAt(form.intent, ['gates', index]))
  const place = (member: string): readonly (string | number)[] => ['gates', index, member]
  const orderProblem = form.problems.find(({ field }) => field === `gates[${index}].order`)
  return (
    <fieldset>
      <legend>
        Gate {name}: {id}
      </legend>
      <div class="end">
        <button type="button" class="btn tiny" data-move="-1" aria-label={`Move ${id} up`} onClick={() => onMove(-1)}>
          Up
        </button>
        <button type="button" class="btn tiny" data-move="1" aria-label={`Move ${id} down`} onClick={() => onMove(1)}>
          Down
        </button>
        <button type="button" class="btn tiny danger" aria-label={`Remove ${id}`} data-remove onClick={onRemove}>
          Remove
        </button>
      </div>
      {orderProblem === undefined ? null : (
        <p class="no small">{orderProblem.text} Move the gate to number it again.</p>
      )}
      <Field form={form} place={place('gate_id')} field={{ label: 'Gate id', kind: 'text' }} />
      <Choice
        form={form}
        place={place('gate_type')}
        label="Checks that"
        choices={TYPES}
        absent=""
        onChoice={(type) => {
          const own: EarlierConfigs = earlier.get(id) ?? new Map()
          earlier.set(id, own)
          form.onIntent(withGateType(form.intent, index, type, own))
        }}
      />
      <Config form={form} index={index} />
      <Choice
        form={form}
        place={place('mode')}
        label="When it fails, it"
        choices={MODES}
        absent="enforce"
        onChoice={(mode) => form.onIntent(withValue(form.intent, place('mode'), mode))}
      />
      <Field
        form={form}
        place={place('disclose_input')}
        field={{ label: 'Proofs show the checked value', kind: 'yes' }}
      />
      <Others form={form} place={['gates', index]} known={GATE} />
    </fieldset>
  )
}

/** The fields of the gate type. A type that this console does not have, or another form of config, is edited as JSON. */
function Config({ form, index }: Pick<GateProps, 'form' | 'index'>): JSX.Element {
  const fields = fieldsOf(valueAt(form.intent, ['gates', index, 'gate_type']))
  const config = valueAt(form.intent, ['gates', index, 'config'])
  if (fields === undefined || (config !== undefined && !isObject(config)))
    return <Field form={form} place={['gates', index, 'config']} field={{ label: 'Config as JSON', kind: 'json' }} />
  return (
    <>
      {fields.map((field) => (
        <Field
          key={field.name}
          form={form}
          place={['gates', index, 'config', ...field.name.split('.')]}
          field={field}
        />
      ))}
      <Others
        form={form}
        place={['gates', index, 'config']}
        known={fields.map(({ name }) => name.split('.')[0] ?? '')}
      />
    </>
  )
}
