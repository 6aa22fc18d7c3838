// A namespace.
namespace a::b { namespace {
/// A vector.
template <typename T> class Vec : public Base<T> {
 public:
  Vec();
  virtual ~Vec();
  operator bool() const;
  T get() const { return x; }
  int *at(int);
  int **rows(int);
  int &ref();
  static int s;
  using V = T;
  bool operator==(const Vec&) const;
  template <class U> void convert(U);
  enum class Kind { A };
  T x{};
  void (*callback)(int);
};
template <> struct Spec<int> { void f(); };
template <> class Special<int> {};
} }
int A::B::method(int) const { return 1; }
A::A() : x(1) {}
A::~A() {}
template <class T> T &Vec<T>::ref() { return x; }
bool operator<(A a, A b) { return 1; }
A::operator bool() const { return 1; }
A::operator int *() { return 0; }
auto trailing() -> int { return 1; }
class API_EXPORT Exported { void q(); };
class MY_LIB_API(1) Other final : Base { };
extern "C" { int c_function(int x) { return 1; } }
template <class T> concept C = true;
constexpr int K = 3;
class Outer::In { int z; };
struct Outer::St { int z; };
