import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { Operation } from '../requests/catalogue.ts'
import { readBody } from '../requests/sign-request.ts'
import type { Values } from '../requests/target.ts'

const MAX_ROWS = 24

interface Props {
  readonly operation: Operation
  readonly values: Values
  readonly setValues: (values: Values) => void
  readonly body: string | undefined
  readonly setBody: (body: string) => void
  /** Puts the last response into a member of the body; undefined when there is none. */
  readonly insert: ((member: string) => void) | undefined
}

/** The form that the catalogue describes: a field per parameter, then the body. */
export function RequestFields({ operation, values, setValues, body, setBody, insert }: Props): JSX.Element {
  const field = (name: string, isRequired: boolean): JSX.Element => (
    <p class="field" key={name}>
      <label for={`field-${name}`}>
        <code>{name}</code> <span class="quiet">{isRequired ? 'in the path' : 'optional'}</span>
      </label>
      <input
        class="input"
        id={`field-${name}`}
        autocomplete="off"
        spellcheck={false}
        required={isRequired}
        value={values[name] ?? ''}
        onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
      />
    </p>
  )
  return (
    <>
      {operation.parameters.map((name) => field(name, true))}
      {operation.query.map((name) => field(name, false))}
      {body === undefined ? null : (
        <>
          <p class="field">
            <label for="body">Body, sent exactly as shown</label>
            <textarea
              class="input"
              id="body"
              rows={Math.min(MAX_ROWS, body.split('\n').length + 1)}
              spellcheck={false}
              value={body}
              onInput={(event) => setBody(event.currentTarget.value)}
            />
          </p>
          {insert === undefined ? null : <Insert body={body} insert={insert} />}
        </>
      )}
    </>
  )
}

function Insert({ body, insert }: { readonly body: string; readonly insert: (member: string) => void }): JSX.Element {
  const names = membersOf(body)
  const [chosen, setChosen] = useState('')
  const member = names.includes(chosen) ? chosen : (names[0] ?? '')
  return (
    <p class="inline-form insert">
      <label for="insert-member">Insert the last response as</label>
      <select
        class="input"
        id="insert-member"
        value={member}
        onChange={(event) => setChosen(event.currentTarget.value)}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <button type="button" class="btn" disabled={member === ''} onClick={() => insert(member)}>
        Insert
      </button>
    </p>
  )
}

/** Returns no members while the text is not an object. The form reports it when it is sent. */
function membersOf(body: string): readonly string[] {
  try {
    return Object.keys(readBody(body))
  } catch {
    return []
  }
}
