/** One of a few, above a list: what it is narrowed to. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: T
  options: readonly T[]
  onChange: (value: T) => void
}) {
  return (
    <label className="field choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        {options.map((one) => (
          <option key={one} value={one}>
            {one.replaceAll('_', ' ') || 'any'}
          </option>
        ))}
      </select>
    </label>
  )
}
