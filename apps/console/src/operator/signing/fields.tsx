import type { JSX } from 'preact'
import type { ActField, Values } from './act.ts'

/** The fields of a drawer. Enter in a field never presses the button that signs: there is no form around them. */
export function ActFields(props: {
  readonly fields: readonly ActField[]
  readonly values: Values
  readonly onEdit: (name: string, value: string) => void
}): JSX.Element {
  return (
    <>
      {props.fields
        .filter(({ isShown }) => isShown?.(props.values) !== false)
        .map((field) => (
          <div class="field" key={field.name}>
            <label for={`field-${field.name}`} id={`label-${field.name}`}>
              {field.label} {field.isOptional === true ? <span class="quiet">(optional)</span> : null}
            </label>
            <Control {...props} field={field} />
            {field.hint === undefined ? null : (
              <span class="hint" id={`hint-${field.name}`}>
                {field.hint}
              </span>
            )}
          </div>
        ))}
    </>
  )
}

function Control(props: {
  readonly field: ActField
  readonly values: Values
  readonly onEdit: (name: string, value: string) => void
}): JSX.Element {
  const { name, kind, choices, placeholder, hint, isMono } = props.field
  const shared = {
    id: `field-${name}`,
    value: props.values[name] ?? '',
    ...(hint === undefined ? {} : { 'aria-describedby': `hint-${name}` }),
  }
  const edit = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void =>
    props.onEdit(name, currentTarget.value)
  const className = `input${isMono === true ? ' mono' : ''}`
  if (kind === 'choice')
    return (
      <select class={className} {...shared} onChange={edit}>
        {choices?.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    )
  if (kind === 'few')
    return (
      <div class="seg" role="group" id={shared.id} aria-labelledby={`label-${name}`}>
        {choices?.map(({ value, text }) => (
          <button
            type="button"
            key={value}
            aria-pressed={value === shared.value}
            onClick={() => props.onEdit(name, value)}
          >
            {text}
          </button>
        ))}
      </div>
    )
  if (kind === 'file') return <FileText name={name} shared={shared} onText={(text) => props.onEdit(name, text)} />
  if (kind === 'long') return <textarea class={`${className} long`} rows={8} {...shared} onInput={edit} />
  return (
    <input
      class={className}
      {...shared}
      autocomplete="off"
      inputMode={kind === 'number' ? 'numeric' : 'text'}
      placeholder={placeholder ?? ''}
      onInput={edit}
    />
  )
}

/** A record as text, pasted or from a file that is chosen or dropped. */
function FileText(props: {
  readonly name: string
  readonly shared: { readonly id: string; readonly value: string }
  readonly onText: (text: string) => void
}): JSX.Element {
  const take = async (file: File | undefined): Promise<void> => {
    if (file !== undefined) props.onText(await file.text())
  }
  return (
    <>
      <textarea
        class="input mono long"
        rows={4}
        {...props.shared}
        onInput={({ currentTarget }) => props.onText(currentTarget.value)}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          void take(event.dataTransfer?.files[0])
        }}
      />
      <input
        type="file"
        aria-label="Choose a file"
        data-file={props.name}
        onChange={({ currentTarget }) => void take(currentTarget.files?.[0])}
      />
    </>
  )
}
